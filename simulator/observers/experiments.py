"""The result of each experiment: how it ended, its best trial, and its cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from muster.config import Point
from services.searcher.core.experiment.entities import ExperimentRecord
from services.searcher.core.reducers.changes import Decision
from shared.ids import ExperimentId, TenantId, TrialId
from simulator.experiments.submission import Submission
from simulator.observers.observer import Observer
from simulator.trials import WorkloadTrial


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """One experiment, in order of arrival.

    Attributes:
        trials: How many the search created. `full`: trained to the end; `stopped`: stopped by the search.
        best: The metric of the best validation. `best_point`: the hyperparameters of its trial.
        steps: Steps trained in total. Repeated steps after a loss and the initial steps of copies do not count.
        took_s: From the submission to the end; None: it has not ended.
        slot_hours: Held by its runs.
    """

    name: str
    tenant: str
    state: str
    trials: int
    full: int
    stopped: int
    failed: int
    best: float | None
    best_trial: int | None
    best_point: Point
    steps: int
    took_s: float | None
    slot_hours: float
    reason: str | None = None


@dataclass(slots=True)
class _Seen:
    submission: Submission
    experiment: ExperimentRecord
    points: dict[int, Point] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)


class Experiments(Observer):
    """Collects events, and returns the results at the end."""

    def __init__(self) -> None:
        self._seen: dict[ExperimentId, _Seen] = {}
        self._begins_at: dict[TrialId, int] = {}

    def on_arrived(self, trial: TrialId, tenant: TenantId, item: WorkloadTrial) -> None:
        self._begins_at[trial] = int(item.begins_at)

    def on_decided(self, submission: Submission, decision: Decision) -> None:
        experiment = decision.experiment
        seen = self._seen.setdefault(experiment.id, _Seen(submission, experiment))
        seen.experiment = experiment
        for trial in decision.trials.values():
            seen.points.setdefault(trial.number, trial.point)
            trained = trial.latest.step - self._begins_at[trial.id] if trial.latest else 0
            seen.steps[trial.number] = max(trained, seen.steps.get(trial.number, 0))

    def results(self, slot_ms_of: Mapping[ExperimentId, float]) -> Iterator[ExperimentResult]:
        """`slot_ms_of`: slot time held by each experiment's runs."""
        for name, seen in self._seen.items():
            experiment, counts, best = seen.experiment, seen.experiment.counts, seen.experiment.best
            ended_at = experiment.ended_at
            yield ExperimentResult(
                name=seen.submission.name,
                tenant=seen.submission.tenant,
                state=experiment.state.value,
                trials=len(seen.points),
                full=counts.completed,
                stopped=counts.stopped,
                failed=counts.error,
                best=best.value if best else None,
                best_trial=best.trial if best else None,
                best_point=seen.points[best.trial] if best else {},
                steps=sum(seen.steps.values()),
                took_s=(ended_at - experiment.started_at).total_seconds() if ended_at else None,
                slot_hours=slot_ms_of.get(name, 0) / 3_600_000,
                reason=experiment.reason,
            )

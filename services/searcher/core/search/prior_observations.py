"""Prior observations of a search: points to try first, and results of earlier experiments.

They are selected once when the search is created and stored at the start of its journal. Later changes of those
experiments do not affect the search.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import JsonValue
from pydantic_core import PydanticCustomError

from muster.config import ExperimentConfig, Point
from muster.config.point_validation import check_point
from services.searcher.core.experiment.objectives import Objectives, is_finite

MAX_PRIOR_TRIALS = 500
"""Most trials given to a sampler, because the cost of a proposal grows with them."""
TRIALS_PER_ENTRY = 100


@dataclass(frozen=True, slots=True)
class PriorTrial:
    """A trial of an earlier experiment with its raw values by name.

    `time` is the time at which its search stopped it; None if it ran to its end.
    """

    experiment: int
    trial: int
    point: Point
    value: float
    time: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PriorExperiment:
    """An earlier experiment: its metric, its time metric, and its trials that have results."""

    number: int
    metric: str
    time_metric: str | None
    trials: tuple[PriorTrial, ...]


@dataclass(frozen=True, slots=True)
class PriorObservations:
    """Points to try first, and trials to learn from, those that came furthest first."""

    points: tuple[Point, ...] = ()
    known: tuple[PriorTrial, ...] = ()

    def parts(self) -> Iterator["PriorObservations"]:
        """Yield chunks that fit a journal entry, the points with the first. Yields nothing if it is empty."""
        for start in range(0, max(len(self.known), bool(self.points)), TRIALS_PER_ENTRY):
            yield PriorObservations(
                () if start else self.points, self.known[start : start + TRIALS_PER_ENTRY]
            )

    def to_facts(self) -> dict[str, JsonValue]:
        """Return it as facts of a journal entry."""
        return {"points": [*self.points], "known": [asdict(each) for each in self.known]}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> "PriorObservations":
        """Read what `to_facts` returned."""
        return cls(tuple(facts["points"]), tuple(PriorTrial(**each) for each in facts["known"]))


NO_PRIOR_OBSERVATIONS = PriorObservations()
"""No prior observations."""


def select_prior_observations(
    config: ExperimentConfig, earlier: Sequence[PriorExperiment], learns: bool
) -> tuple[PriorObservations, tuple[str, ...]]:
    """Select the trials of earlier experiments that this search can use.

    Returns them with notes on what it cannot use. A trial is usable if it reported all metrics that count here and
    its point fits this space: an admissible value for each active parameter (for a constant: the same value), and all
    constraints are met. Extra parameters are dropped. A trial that its search stopped early is usable only if this
    search uses the same time metric or none; to be tried first, it must have run to its end.
    """
    searcher = config.searcher
    warm_start = getattr(searcher, "warm_start", None)
    if warm_start is None:
        return NO_PRIOR_OBSERVATIONS, ()
    notes: list[str] = []
    known: list[PriorTrial] = []
    for each in earlier:
        if each.metric != searcher.metric:
            notes.append(
                f"experiment {each.number} optimized '{each.metric}' instead of '{searcher.metric}':"
                " its trials are ignored"
            )
            continue
        found = [trial for trial in _fitting(config, each.trials) if _counts(config, each, trial)]
        if not found:
            notes.append(
                f"experiment {each.number} has no trial whose results fit this space and its metrics"
            )
        known += found
    if earlier and not learns and not warm_start.best:
        name = searcher.sampler.name  # type: ignore[union-attr]
        notes.append(
            f"the sampler '{name}' ignores earlier experiments: choose another sampler, or set 'best'"
        )
    points = _best(Objectives.of(config), known, warm_start.best or 0)
    return PriorObservations(points, _furthest(known) if learns else ()), tuple(notes)


def _fitting(config: ExperimentConfig, trials: Iterable[PriorTrial]) -> Iterable[PriorTrial]:
    constraints, counting = config.read_constraints(), Objectives.of(config).others
    for trial in trials:
        try:
            point = check_point(config.hyperparameters, trial.point)
        except PydanticCustomError:
            continue
        is_whole = is_finite(trial) and trial.others.keys() >= set(counting)
        if is_whole and all(constraint.is_met(point) for constraint in constraints):
            yield replace(trial, point=point, others={name: trial.others[name] for name in counting})


def _counts(config: ExperimentConfig, earlier: PriorExperiment, trial: PriorTrial) -> bool:
    time_metric = getattr(config.searcher, "time_metric", None)
    return trial.time is None or time_metric in (None, earlier.time_metric)


def _best(objectives: Objectives, known: Iterable[PriorTrial], count: int) -> tuple[Point, ...]:
    """Return distinct points of complete trials that meet the limits, the best first; of equals the earlier one."""
    chosen = [trial for trial in known if trial.time is None and objectives.is_admissible(trial)]
    ranked = sorted(chosen, key=lambda trial: (objectives.losses(trial), trial.experiment, trial.trial))
    distinct = {json.dumps(trial.point, sort_keys=True): trial.point for trial in reversed(ranked)}
    return tuple(reversed(distinct.values()))[:count]


def _furthest(known: Iterable[PriorTrial]) -> tuple[PriorTrial, ...]:
    def rank(trial: PriorTrial) -> tuple[float, int, int]:
        return (-math.inf if trial.time is None else -trial.time, -trial.experiment, -trial.trial)

    return tuple(sorted(known, key=rank)[:MAX_PRIOR_TRIALS])

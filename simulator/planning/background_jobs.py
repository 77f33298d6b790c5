"""Background jobs: the runs and waiting requests of a pool as trials of the simulation. Each future draws their
durations again."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from services.scheduler.core.explaining.forecast import remaining_times
from services.scheduler.core.state.records.labels import Labels, PlacementConstraint, labels_of
from shared.ids import WorkerId
from shared.messages.plans import OutlookRequest
from simulator.planning.worker_protocol import tenant_name, workspace_name
from simulator.trials import PlainWork, WorkloadTrial

CASES = (0.0, *remaining_times.CASES)
"""The quantiles of a request's `rest_s`, preceded by 0."""
LEAST_S, MOST_S = 60.0, 30 * 86_400.0
"""Range of a remaining time that is drawn without any information."""
RUNNING_MS, WAITING_MS, NOW_MS = 0, 1000, 2000
"""First running trials get their slots again, then waiting ones enter the queue. The planned experiment is
submitted after both."""

CHECKPOINT_MS = 600_000
"""Assumed checkpoint interval of background jobs. With time slicing a run yields only after a checkpoint."""


def items_of(background_jobs: Sequence[OutlookRequest], chance: Random) -> list[WorkloadTrial]:
    """Return one item per request."""
    mean_age_s = _mean([one.age_s for one in background_jobs if one.workers])
    return [
        _item(number, one, _rest_s(one, mean_age_s, chance))
        for number, one in enumerate(background_jobs)
        for _ in range(one.count)
    ]


def marks_of(background_jobs: Sequence[OutlookRequest]) -> Mapping[WorkerId, Mapping[str, str]]:
    """Return labels by which each run finds its current machines."""
    marks: dict[WorkerId, dict[str, str]] = {}
    for number, one in enumerate(background_jobs):
        for worker in one.workers:
            marks.setdefault(worker, {})[_mark(number)] = "here"
    return marks


def are_unknown(background_jobs: Sequence[OutlookRequest]) -> int:
    """Return how many requests have an unknown duration."""
    return sum(one.count for one in background_jobs if not one.rest_s)


def _item(number: int, one: OutlookRequest, rest_s: float) -> WorkloadTrial:
    length_ms = max(1, round(rest_s * 1000)) + (NOW_MS if one.workers else 0)
    return WorkloadTrial(
        name=f"other {number}",
        arrives_ms=RUNNING_MS if one.workers else WAITING_MS,
        work=PlainWork(length_ms, one.slots),
        min_slots=one.min_slots,
        max_slots=one.slots,
        fraction=one.fraction,
        tenant=tenant_name(one.tenant),
        workspace=workspace_name(one.workspace),
        experiment=f"other {one.experiment}",
        priority=one.priority,
        weight=one.weight,
        single_node=one.single_node,
        where=_where(number, one),
        checkpoint_ms=CHECKPOINT_MS,
        launch_ms=0,
        experiment_max_slots=one.experiment_max_slots,
        max_concurrent_trials=one.experiment_max_trials,
    )


def _where(number: int, one: OutlookRequest) -> PlacementConstraint | None:
    wanted: Labels = ((_mark(number), "here"),) if one.workers else ()
    if not (wanted or one.required_labels or one.excluded_workers):
        return None
    return PlacementConstraint(labels_of(one.required_labels), wanted, one.excluded_workers)


def _rest_s(one: OutlookRequest, mean_age_s: float, chance: Random) -> float:
    """Interpolate linearly between two quantiles, and extrapolate beyond the last. Without information, a run
    continues for about as long as it has run (Pareto's law with exponent 1), and a waiting request is treated
    like the running ones."""
    drawn = chance.random()
    if not one.rest_s:
        age_s = one.age_s if one.workers else mean_age_s
        return min(MOST_S, max(LEAST_S, age_s) * drawn / max(1e-9, 1 - drawn))
    values = (0.0, *one.rest_s) if one.workers else (one.rest_s[0] * 0.5, *one.rest_s)
    at = max(case for case in range(len(CASES) - 1) if CASES[case] <= drawn)
    (c0, c1), (v0, v1) = CASES[at : at + 2], values[at : at + 2]
    return v0 + (v1 - v0) * (drawn - c0) / (c1 - c0)


def _mark(number: int) -> str:
    return f"held-by-{number}"


def _mean(values: Iterator[float] | Sequence[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else LEAST_S

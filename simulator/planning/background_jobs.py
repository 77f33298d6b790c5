"""Who else is in the pool: runs that hold slots and requests that wait, as trials of a simulation whose lengths are drawn anew in each future."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from services.scheduler.core.explaining.forecast import remaining_times
from services.scheduler.core.state.records.labels import Labels, PlacementConstraint, labels_of
from shared.ids import WorkerId
from shared.messages.plans import OutlookRequest
from simulator.planning.question import tenant_name, workspace_name
from simulator.trials import PlainWork, WorkloadTrial

CASES = (0.0, *remaining_times.CASES)
"""The parts of all cases that a request's `rest_s` speaks of, after none."""
LEAST_S, MOST_S = 60.0, 30 * 86_400.0
"""Of a rest that is drawn without any knowledge."""
RUNNING_MS, WAITING_MS, NOW_MS = 0, 1000, 2000
"""First those that have slots get them again, then those that wait stand in line; whoever is planned for comes after both, and that is now."""

CHECKPOINT_MS = 600_000
"""So often the others are taken to save: nobody says when they do, and where turns are taken a run yields only once it has saved."""


def items_of(crowd: Sequence[OutlookRequest], chance: Random) -> list[WorkloadTrial]:
    """One for each request."""
    mean_age_s = _mean([one.age_s for one in crowd if one.workers])
    return [
        _item(place, one, _rest_s(one, mean_age_s, chance))
        for place, one in enumerate(crowd)
        for _ in range(one.count)
    ]


def marks_of(crowd: Sequence[OutlookRequest]) -> Mapping[WorkerId, Mapping[str, str]]:
    """Labels by which each run finds the machines that it is on."""
    marks: dict[WorkerId, dict[str, str]] = {}
    for place, one in enumerate(crowd):
        for worker in one.workers:
            marks.setdefault(worker, {})[_mark(place)] = "here"
    return marks


def are_unknown(crowd: Sequence[OutlookRequest]) -> int:
    """Of how many nobody knows how long they will take."""
    return sum(one.count for one in crowd if not one.rest_s)


def _item(place: int, one: OutlookRequest, rest_s: float) -> WorkloadTrial:
    length_ms = max(1, round(rest_s * 1000)) + (NOW_MS if one.workers else 0)
    return WorkloadTrial(
        name=f"other {place}",
        arrives_ms=RUNNING_MS if one.workers else WAITING_MS,
        work=PlainWork(length_ms, one.slots),
        min_slots=one.min_slots,
        max_slots=one.slots,
        part=one.part,
        tenant=tenant_name(one.tenant),
        workspace=workspace_name(one.workspace),
        experiment=f"other {one.experiment}",
        priority=one.priority,
        weight=one.weight,
        single_node=one.single_node,
        where=_where(place, one),
        checkpoint_ms=CHECKPOINT_MS,
        launch_ms=0,
        experiment_max_slots=one.experiment_max_slots,
        max_concurrent_trials=one.experiment_max_trials,
    )


def _where(place: int, one: OutlookRequest) -> PlacementConstraint | None:
    wanted: Labels = ((_mark(place), "here"),) if one.workers else ()
    if not (wanted or one.required_labels or one.excluded_workers):
        return None
    return PlacementConstraint(labels_of(one.required_labels), wanted, one.excluded_workers)


def _rest_s(one: OutlookRequest, mean_age_s: float, chance: Random) -> float:
    """On the straight line between two cases; beyond the last, that line goes on. Where nothing is known, a run goes on for about as long
    as it has gone by now, perhaps much longer (Pareto's law with exponent 1), and one that waits is taken to be like those that run."""
    drawn = chance.random()
    if not one.rest_s:
        age_s = one.age_s if one.workers else mean_age_s
        return min(MOST_S, max(LEAST_S, age_s) * drawn / max(1e-9, 1 - drawn))
    values = (0.0, *one.rest_s) if one.workers else (one.rest_s[0] * 0.5, *one.rest_s)
    place = max(case for case in range(len(CASES) - 1) if CASES[case] <= drawn)
    (c0, c1), (v0, v1) = CASES[place : place + 2], values[place : place + 2]
    return v0 + (v1 - v0) * (drawn - c0) / (c1 - c0)


def _mark(place: int) -> str:
    return f"held-by-{place}"


def _mean(values: Iterator[float] | Sequence[float]) -> float:
    known = list(values)
    return sum(known) / len(known) if known else LEAST_S

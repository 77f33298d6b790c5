"""What earlier runs of the same code show, read from their reports."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from shared.ids import ExperimentId
from shared.messages.plans import EarlierRun
from simulator.experiments.replayed_curves import EarlierRunData

HANDOVER_MS = 3000.0
"""A run that is granted so soon after another of its experiment has ended had waited for that: longer gaps have other reasons."""


def read_earlier(runs: Iterable[EarlierRun], slots: float) -> list[EarlierRunData]:
    """What those runs show that reported the metric at least once.

    How long a step takes comes from the time between validations of one run, so that neither launch nor end stands in it; runs that
    validated once are taken to be as quick as the others. With another number of slots it changes in proportion. What a run cost beside
    its steps includes the handover of its slots from the run before.

    Args:
        slots: That a trial will have.
    """
    useful = [run for run in runs if any(map(math.isfinite, run.values))]
    common = _common_work(useful)
    handover_ms = _handover_ms(useful)
    return [_seen(run, _work(run) or common, slots, handover_ms) for run in useful]


def _seen(run: EarlierRun, work: float, slots: float, handover_ms: float) -> EarlierRunData:
    pairs = sorted(
        {
            time: value for time, value in zip(run.times, run.values, strict=True) if math.isfinite(value)
        }.items()
    )
    times, values = zip(*pairs, strict=True)
    # Only a trial's first run is known to begin at the first step.
    beside_ms = _held_ms(run) - run.times[-1] * work / run.slots
    return EarlierRunData(
        point=run.hyperparameters,
        times=times,
        values=values,
        step_ms=work / slots,
        launch_ms=max(0.0, beside_ms) + handover_ms if run.number == 1 else None,
        is_whole=run.outcome == "completed",
    )


def _work(run: EarlierRun) -> float | None:
    """Of a step, in slot-milliseconds; None: there was one validation."""
    steps, took_ms = run.times[-1] - run.times[0], run.at_ms[-1] - run.at_ms[0]
    return max(0.01, took_ms / steps) * run.slots if steps > 0 else None


def _common_work(runs: Sequence[EarlierRun]) -> float:
    """In the middle. Where no run validated twice, launch and steps cannot be told apart, and all counts as steps."""
    known = [work for run in runs if (work := _work(run)) is not None]
    return median(known or [_held_ms(run) * run.slots / max(1.0, run.times[-1]) for run in runs] or [0.0])


def _held_ms(run: EarlierRun) -> float:
    return (run.ended_at - run.granted_at).total_seconds() * 1000


def _handover_ms(runs: Sequence[EarlierRun]) -> float:
    """From a run's end until another of the experiment has slots, where it waited for just that."""
    of: dict[ExperimentId, list[EarlierRun]] = defaultdict(list)
    for run in runs:
        of[run.experiment_id].append(run)
    gaps = []
    for mine in of.values():
        ends = sorted(run.ended_at for run in mine)
        for run in mine:
            before = bisect_right(ends, run.granted_at)
            if before:
                gaps.append((run.granted_at - ends[before - 1]).total_seconds() * 1000)
    return median([gap for gap in gaps if gap <= HANDOVER_MS] or [0.0])

"""Extracts learning curves and durations from reports of earlier runs of the same code."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from shared.ids import ExperimentId
from shared.messages.plans import EarlierRun
from simulator.experiments.replayed_curves import EarlierRunData

HANDOVER_MS = 3000.0
"""A gap up to this long between two runs of an experiment is the handover of slots; longer gaps have other causes."""


def read_earlier(runs: Iterable[EarlierRun], slots: float) -> list[EarlierRunData]:
    """Return the runs that reported the metric at least once.

    The step time is derived from the time between validations of one run, so that neither launch nor end is
    included. Runs with a single validation are assumed to be as fast as the others. The step time scales with
    the number of slots. A run's time apart from its steps includes the handover of slots from the previous run.

    Args:
        slots: Slots of the planned trial.
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
    # Only a trial's first run is known to start at step 0.
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
    """Return the cost of a step in slot-milliseconds; None: a single validation."""
    steps, took_ms = run.times[-1] - run.times[0], run.at_ms[-1] - run.at_ms[0]
    return max(0.01, took_ms / steps) * run.slots if steps > 0 else None


def _common_work(runs: Sequence[EarlierRun]) -> float:
    """Return the median. If no run validated twice, launch and steps cannot be separated, and all time counts
    as steps."""
    known = [work for run in runs if (work := _work(run)) is not None]
    return median(known or [_held_ms(run) * run.slots / max(1.0, run.times[-1]) for run in runs] or [0.0])


def _held_ms(run: EarlierRun) -> float:
    return (run.ended_at - run.granted_at).total_seconds() * 1000


def _handover_ms(runs: Sequence[EarlierRun]) -> float:
    """Return the median time from a run's end until another run of the experiment has slots, if it waited only
    for them."""
    of: dict[ExperimentId, list[EarlierRun]] = defaultdict(list)
    for run in runs:
        of[run.experiment_id].append(run)
    gaps = []
    for mine in of.values():
        ended = sorted(run.ended_at for run in mine)
        for run in mine:
            before = bisect_right(ended, run.granted_at)
            if before:
                gaps.append((run.granted_at - ended[before - 1]).total_seconds() * 1000)
    return median([gap for gap in gaps if gap <= HANDOVER_MS] or [0.0])

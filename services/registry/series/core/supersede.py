"""Which points of a trial count after a roll-back, or where a run repeats steps. Points are superseded, never deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOTHING = -1
"""The boundary of a run that began from nothing: every step of its predecessors lies beyond it."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """One run of a trial.

    Attributes:
        number: 1 for the first run; later runs have higher numbers.
        resumed_from: the step it went on from, `NOTHING` when it began from nothing, None while it has not restored.
    """

    number: int
    resumed_from: int | None = None


def plan_boundaries(attempts: Sequence[RunStart]) -> dict[int, int | None]:
    """Return for each run's number the last of its steps that still counts; None when all do.

    A run's points count up to the lowest step from which any later run resumed. A run that has not asked what to
    restore rolls nothing back yet.
    """
    boundaries: dict[int, int | None] = {}
    lowest: int | None = None
    for attempt in sorted(attempts, key=lambda one: one.number, reverse=True):
        boundaries[attempt.number] = lowest
        if attempt.resumed_from is not None:
            lowest = attempt.resumed_from if lowest is None else min(lowest, attempt.resumed_from)
    return boundaries


def is_current(step: int, boundary: int | None) -> bool:
    """Return whether a point at this step still counts under its run's boundary."""
    return boundary is None or step <= boundary


def choose_newest(steps: NDArray[np.int64], runs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which points of a metric count: of those at one step, the newest run's.

    A script that takes no notice of the checkpoint it could go on from reports early steps again; what it says now
    counts, and what its predecessor said of the steps that it has not reached yet.

    Args:
        steps: In rising order; of one run there may be several points at a step, and all count.
        runs: The numbers of the points' runs, rising within a step.
    """
    if not len(steps):
        return np.ones(0, dtype=np.bool_)
    ends = np.append(np.flatnonzero(np.diff(steps)), len(steps) - 1)
    newest = np.repeat(runs[ends], np.diff(ends, prepend=-1))
    chosen: NDArray[np.bool_] = runs == newest
    return chosen


def is_repeated(spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a later run may have reported a step again, from the (first, last) steps of each run, oldest first."""
    reached = None
    for first, last in spans:
        if reached is not None and first <= reached:
            return True
        reached = last if reached is None else max(reached, last)
    return False

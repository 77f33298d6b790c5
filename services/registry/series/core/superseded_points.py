"""Which points of a trial count after a rollback, or when a run repeats steps. Points are superseded, never deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NOTHING = -1
"""Boundary set by a run that started from scratch: all steps of its predecessors are beyond it."""


@dataclass(frozen=True, slots=True)
class RunStart:
    """One run of a trial.

    Attributes:
        number: 1 for the first run; later runs have higher numbers.
        resumed_from: Step from which it resumed; `NOTHING` if it started from scratch, None if it has not restored yet.
    """

    number: int
    resumed_from: int | None = None


def plan_boundaries(attempts: Sequence[RunStart]) -> dict[int, int | None]:
    """Return for each run's number its last step that still counts; None if all count.

    A run's points count up to the lowest step from which any later run resumed. A run that has not restored yet rolls nothing back.
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
    """Return which points of a metric count: at each step, those of the newest run.

    A script that ignores its checkpoint reports early steps again. Its new values count, and those of its predecessor count for
    steps that it has not reached yet.

    Args:
        steps: Ascending. One run may have several points at a step; all of them count.
        runs: Run numbers of the points, ascending within a step.
    """
    if not len(steps):
        return np.ones(0, dtype=np.bool_)
    last_of_step = np.append(np.flatnonzero(np.diff(steps)), len(steps) - 1)
    newest = np.repeat(runs[last_of_step], np.diff(last_of_step, prepend=-1))
    chosen: NDArray[np.bool_] = runs == newest
    return chosen


def is_repeated(spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a later run may have repeated a step, from the (first, last) steps of each run, oldest first."""
    reached = None
    for first, last in spans:
        if reached is not None and first <= reached:
            return True
        reached = last if reached is None else max(reached, last)
    return False

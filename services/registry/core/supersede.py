"""Which points of a trial count after a roll-back. Points are superseded, never deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

NOTHING = -1
"""The boundary of a run that began from nothing: every step of its predecessors lies beyond it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of a trial.

    Attributes:
        number: 1 for the first run; later runs have higher numbers.
        resumed_from: the step it went on from, `NOTHING` when it began from nothing, None while it has not restored.
    """

    number: int
    resumed_from: int | None = None


def plan_boundaries(attempts: Sequence[Attempt]) -> dict[int, int | None]:
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

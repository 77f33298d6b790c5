"""The port of every search method: what it is told, and what it answers.

A method is a mutable index that only these calls advance; equal sequences of calls give equal answers.
It knows trials by their numbers, and results as (value, time) with smaller values better and infinity
worst: signs, missing metrics and NaN are settled before it is asked.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

Branch = int
"""Which part of a search a trial belongs to: the bracket's index; 0 where there are no brackets."""


class Ending(StrEnum):
    """How a trial's request closed, as far as the search cares."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer to a result.

    Attributes:
        counted: Whether the result reached a rung, so that it was decided.
        stop: Whether the trial ends here.
        at_top: Whether it ends because it has had its whole time.
        decide_at: The time of the next decision; None when none is to come.
    """

    counted: bool
    stop: bool
    at_top: bool
    decide_at: float | None


NEVER = Ruling(counted=False, stop=False, at_top=False, decide_at=None)


class SearchMethod(Protocol):
    """What to try and when to stop it."""

    def plan_start(self) -> list[Branch]:
        """Return a branch for each trial to begin with."""
        ...

    def on_created(self, trial: int, branch: Branch) -> float | None:
        """Take in a new trial; return the time of its first decision, or None for never."""
        ...

    def on_result(self, trial: int, value: float, time: float) -> Ruling:
        """Judge a result; one result may pass several rungs. After a stop, results change nothing."""
        ...

    def on_ended(self, trial: int, ending: Ending) -> list[Branch]:
        """Take in a trial's end, once per trial; return a branch for each trial to make in its place."""
        ...

    def plan_more(self, count: int) -> list[Branch]:
        """Return a branch for each of at most `count` further trials, of those that it has not asked for yet."""
        ...

    def progress(self) -> float:
        """Return the share of the search that is done, 0 to 1, counting trials not made yet."""
        ...

    def planned(self) -> int:
        """Return how many trials the search makes in all."""
        ...

"""The port of every search method: what it is told, and what it answers.

A method is a mutable index that only these calls advance; equal sequences of calls give equal answers.
It knows trials by their numbers, and results as (value, time) with smaller values better and infinity
worst: signs, missing metrics and NaN are settled before it is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from muster.config import Point
from shared.errors import Rejected

RULES_VERSION = 4
"""The rules that searches go by now; a journal names those of its search. Under 0 the brackets of `adaptive_asha` have places apart; under 0 and
1 a sampler hears of a trial only when that has ended; before 3 no budget keeps more than a tenth of itself for stopping; before 4 all trials of
equal value go on by promotion where one of them may."""

Branch = int
"""Which part of a search a trial belongs to: the bracket's index; 0 where there are no brackets."""


@dataclass(frozen=True, slots=True)
class StartTrial:
    """A trial is to be made.

    Attributes:
        branch: The part of the search that it belongs to.
        point: Its hyperparameters, where not the sampler proposes them.
        source: The trial from whose newest checkpoint it starts.
    """

    branch: Branch = 0
    point: Point | None = None
    source: int | None = None


@dataclass(frozen=True, slots=True)
class ResumeTrial:
    """A trial that was paused by the search is to be trained on, until its next decision; None: there is none to come."""

    trial: int
    decide_at: float | None


SearchStep = StartTrial | ResumeTrial
"""What to do with a free place: make a trial, or have one go on."""


class TrialEnding(StrEnum):
    """How a trial's request closed, as far as the search cares."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INVALID = "invalid"
    """Its hyperparameters make no sense: it counts for nothing, takes no place, and another is made in its stead."""


@dataclass(frozen=True, slots=True)
class RungDecision:
    """The answer to a result.

    Attributes:
        counted: Whether the result reached a rung, so that it was decided.
        stop: Whether the trial ends here.
        at_top: Whether it ends because it has had its whole time.
        decide_at: The time of the next decision; None when none is to come.
        pause: Whether the trial is to leave its place, and to go on later or never.
        rungs: The times of the rungs that counted it, rising: those at which all trials of the search are compared.
    """

    counted: bool
    stop: bool
    at_top: bool
    decide_at: float | None
    pause: bool = False
    rungs: tuple[float, ...] = ()


NO_DECISION = RungDecision(counted=False, stop=False, at_top=False, decide_at=None)


def rung_decision(
    rungs: Sequence[float],
    decide_at: float | None,
    stop: bool = False,
    at_top: bool = False,
    pause: bool = False,
) -> RungDecision:
    """The answer to a result that these rungs counted; several may decide at one time."""
    return RungDecision(bool(rungs), stop, at_top, decide_at, pause, tuple(dict.fromkeys(rungs)))


class NonPausingMethod:
    """A method whose trials keep their places until they end."""

    def on_parked(self, trial: int) -> list[SearchStep]:
        raise AssertionError("this method has no trial pause")


class ResizableMethod(ABC):
    """A method that makes as many trials as it is told."""

    @abstractmethod
    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Make so many trials in all from now on."""

    def reopen(self, planned: int) -> list[SearchStep]:
        return self.resize(planned, ())


class FixedSizeMethod:
    """A method whose number of trials follows from its other keys."""

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        raise Rejected(
            "not_editable",
            "how many trials this searcher makes follows from its other keys",
            "max_trials",
            "finish it early, or fork it",
        )

    def reopen(self, planned: int) -> list[SearchStep]:
        raise AssertionError("it is not known how this method goes on")


class SearchMethod(Protocol):
    """What to try and when to stop it."""

    def plan_start(self) -> list[SearchStep]:
        """Return the trials to begin with."""
        ...

    def on_created(self, trial: int, branch: Branch) -> float | None:
        """Take in a new trial; return the time of its first decision, or None for never."""
        ...

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Judge a result; one result may pass several rungs. After a stop, and while it is paused, results change nothing."""
        ...

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Take in that a trial which was to pause has left its place; return what to do with free places."""
        ...

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Take in a trial's end, once per trial; return what to do with free places."""
        ...

    def plan_more(self, count: int) -> Sequence[SearchStep]:
        """Return what to do with at most `count` further places."""
        ...

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Make so many trials in all from now on, not fewer than there are; return what to do with free places.

        `waiting` are trials that it has asked for and that were not made: they are given back, and may be asked for again.
        """
        ...

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Make no more trials, and not those that are `waiting`; return what to do with free places.

        What is left is for those that are there: more of them may go on than the rule says, the best first.
        """
        ...

    def reopen(self, planned: int) -> list[SearchStep]:
        """Go on as if it had not been closed, when it was to make `planned` trials; return what to do with free places."""
        ...

    def progress(self) -> float:
        """Return the share of the search that is done, 0 to 1, counting trials not made yet."""
        ...

    def planned(self) -> int:
        """Return how many trials the search makes in all, as far as it knows."""
        ...


@runtime_checkable
class Copying(Protocol):
    """What a method is besides that has trials start from the checkpoints of others: it knows who can be copied."""

    def on_point(self, trial: int, point: Point) -> None:
        """Take in the hyperparameters of a trial that was just created."""
        ...

    def awaits(self, trial: int) -> bool:
        """Return whether it is to be told when the next checkpoint of this trial was stored."""
        ...

    def on_stored(self, trial: int) -> None:
        """Take in that a checkpoint of a trial which it awaits was stored."""
        ...

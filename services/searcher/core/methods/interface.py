"""The interface of search methods.

A method is mutable state that only these calls advance; equal sequences of calls give equal answers. It knows trials
by number, and results as (value, time) where smaller values are better and infinity is worst. Signs, missing metrics
and NaN are handled before it is called.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from muster.config import Point
from shared.errors import Rejected

RULES_VERSION = 4
"""Current version of the decision rules; a journal records the version of its search.

Under 0 the brackets of `adaptive_asha` have separate concurrency; under 0 and 1 a sampler sees a trial only when it
has ended; before 3 a budget reserves at most a tenth of itself for stopping; before 4 promotion lets all trials of
equal value continue if one of them may.
"""

Branch = int
"""The part of a search that a trial belongs to: the index of its bracket; 0 without brackets."""


@dataclass(frozen=True, slots=True)
class StartTrial:
    """Create a trial.

    Attributes:
        branch: The part of the search that it belongs to.
        point: Its hyperparameters; None lets the sampler propose them.
        source: The trial from whose newest checkpoint it starts.
    """

    branch: Branch = 0
    point: Point | None = None
    source: int | None = None


@dataclass(frozen=True, slots=True)
class ResumeTrial:
    """Resume a trial that the search paused, until its next decision. None: no decision follows."""

    trial: int
    decide_at: float | None


SearchStep = StartTrial | ResumeTrial
"""What to do with free concurrency: create a trial or resume one."""


class TrialEnding(StrEnum):
    """How a trial's request closed, as far as the search method needs to know."""

    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INVALID = "invalid"
    """Its hyperparameters are invalid: the trial does not count, ranks nowhere, and is replaced."""


@dataclass(frozen=True, slots=True)
class RungDecision:
    """The decision about a result.

    Attributes:
        counted: Whether the result reached a rung, so that a decision was made.
        stop: Whether the trial ends here.
        reached_max_time: Whether it ends because it reached its maximum time.
        decide_at: The time of the next decision; None if there is none.
        pause: Whether the trial is paused; it may or may not be resumed.
        rungs: The times of the rungs that counted the result, ascending. All trials of the search are compared at
            them.
    """

    counted: bool
    stop: bool
    reached_max_time: bool
    decide_at: float | None
    pause: bool = False
    rungs: tuple[float, ...] = ()


NO_DECISION = RungDecision(counted=False, stop=False, reached_max_time=False, decide_at=None)


def rung_decision(
    rungs: Sequence[float],
    decide_at: float | None,
    stop: bool = False,
    reached_max_time: bool = False,
    pause: bool = False,
) -> RungDecision:
    """Return the decision about a result that these rungs counted. Several rungs may have the same time."""
    return RungDecision(bool(rungs), stop, reached_max_time, decide_at, pause, tuple(dict.fromkeys(rungs)))


class NonPausingMethod:
    """A method whose trials are never paused."""

    def on_parked(self, trial: int) -> list[SearchStep]:
        raise AssertionError("this method never pauses trials")


class ResizableMethod(ABC):
    """A method whose total number of trials can be set."""

    @abstractmethod
    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Set the total number of trials."""

    def reopen(self, planned: int) -> list[SearchStep]:
        return self.resize(planned, ())


class FixedSizeMethod:
    """A method whose number of trials follows from its other keys."""

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        raise Rejected(
            "not_editable",
            "this searcher derives its number of trials from its other keys",
            "max_trials",
            "finish the experiment early, or fork it with other settings",
        )

    def reopen(self, planned: int) -> list[SearchStep]:
        raise AssertionError("this method cannot be reopened")


class SearchMethod(Protocol):
    """Which trials to create, resume, pause and stop."""

    def plan_start(self) -> list[SearchStep]:
        """Return the first trials."""
        ...

    def on_created(self, trial: int, branch: Branch) -> float | None:
        """Record a new trial; return the time of its first decision, or None for never."""
        ...

    def on_result(self, trial: int, value: float, time: float) -> RungDecision:
        """Judge a result, which may pass several rungs. Results of stopped or paused trials change nothing."""
        ...

    def on_parked(self, trial: int) -> list[SearchStep]:
        """Record that a trial has been paused; return what to do with free concurrency."""
        ...

    def on_ended(self, trial: int, ending: TrialEnding) -> list[SearchStep]:
        """Record a trial's end, once per trial; return what to do with free concurrency."""
        ...

    def plan_more(self, count: int) -> Sequence[SearchStep]:
        """Return at most `count` further steps."""
        ...

    def resize(self, max_trials: int, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Set the total number of trials, at least as many as exist; return what to do with free concurrency.

        `waiting` are trials that the method requested and that were not created. They are returned to it and may be
        requested again.
        """
        ...

    def close(self, waiting: Sequence[StartTrial]) -> list[SearchStep]:
        """Create no more trials, and not those that are `waiting`; return what to do with free concurrency.

        The rest of the budget goes to the existing trials: more of them may continue than the rule says, the best
        first.
        """
        ...

    def reopen(self, planned: int) -> list[SearchStep]:
        """Continue as if it had not been closed, when `planned` trials were to be created; return what to do with free concurrency."""
        ...

    def progress(self) -> float:
        """Return the completed share of the search, 0 to 1, counting trials that are not created yet."""
        ...

    def planned(self) -> int:
        """Return the total number of trials, as far as the method knows."""
        ...


@runtime_checkable
class Copying(Protocol):
    """Additional interface of methods that start trials from the checkpoints of others."""

    def on_point(self, trial: int, point: Point) -> None:
        """Record the hyperparameters of a trial that was just created."""
        ...

    def awaits(self, trial: int) -> bool:
        """Return whether `on_stored` is to be called when the next checkpoint of this trial is stored."""
        ...

    def on_stored(self, trial: int) -> None:
        """Record that a checkpoint of a trial was stored for which `awaits` is true."""
        ...

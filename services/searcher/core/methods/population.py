"""Members of a PBT population: the progress of each, and its next trial. `pbt` decides about them."""

import math
from dataclasses import dataclass, field
from enum import Enum, auto

from muster.config import Point

WORST = math.inf
MarkResult = tuple[float, int]
"""A trial's value at a mark, and its number. Of equal values the earlier trial ranks better."""


class MemberState(Enum):
    BEGINS = auto()
    """Waits for free concurrency to start its next trial."""
    TRAINS = auto()
    LEAVES = auto()
    """Its trial has been asked to pause or stop."""
    WAITS = auto()
    """Its trial is paused and waits for free concurrency."""
    DONE = auto()


WAITING = (MemberState.BEGINS, MemberState.WAITS)


@dataclass(slots=True)
class PopulationMember:
    """A member of the population across all its trials.

    Attributes:
        trial: The current or last trial; 0 before the first, and after a paused trial was replaced.
        trials: Number of trials so far.
        point: Hyperparameters of the current trial.
        passed: Marks passed, including those of the copied trial; `first_mark` of them when the current trial started.
        furthest: The highest `passed` so far.
        values: Results of the current trial at the marks that it has passed itself.
        unsaved: Marks passed since a checkpoint of the current trial was stored.
        is_stored: Whether any checkpoint of the current trial was stored.
        origin: The copy that the current trial started from; None: from scratch.
        copy: The copy that its next trial starts from; None: from scratch.
    """

    index: int
    state: MemberState = MemberState.BEGINS
    trial: int = 0
    trials: int = 0
    point: Point = field(default_factory=dict)
    passed: int = 0
    first_mark: int = 0
    furthest: int = 0
    values: list[float] = field(default_factory=list)
    unsaved: int = 0
    is_stored: bool = False
    origin: "Copy | None" = None
    copy: "Copy | None" = None

    @property
    def last_result(self) -> MarkResult:
        """The value at its last mark, and its trial."""
        return self.values[-1], self.trial

    def reach(self, passed: int) -> None:
        self.passed = passed
        self.furthest = max(self.furthest, passed)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a member's trial, which trained with `original`. The member may have another trial when the copy starts."""

    member: PopulationMember
    trial: int
    original: Point
    point: Point

    @property
    def passed(self) -> int | None:
        """Marks passed by the copied trial; None once it has ended without being the member's last."""
        is_same = self.member.trial == self.trial and self.member.copy is None
        return self.member.passed if is_same else None

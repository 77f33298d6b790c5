"""The members of a population: where each stands, and what its next trial is to be. `pbt` decides about them."""

import math
from dataclasses import dataclass, field
from enum import Enum, auto

from muster.config import Point

WORST = math.inf
MarkResult = tuple[float, int]
"""What a trial came to at a mark, and its number: of equal ones the earlier is better."""


class MemberState(Enum):
    BEGINS = auto()
    """As soon as there is a place."""
    TRAINS = auto()
    LEAVES = auto()
    """Told to pause or to end."""
    WAITS = auto()
    """Paused, for a place to go on."""
    DONE = auto()


WAITING = (MemberState.BEGINS, MemberState.WAITS)


@dataclass(slots=True)
class PopulationMember:
    """One of the population through all its trials.

    Attributes:
        trial: The present one, or the last; 0 before there is any, and once it gave way while it was paused.
        trials: All that it has had.
        point: With which hyperparameters it trains.
        passed: Marks behind it, with those of the trial that it copies; `begun` of them when its present trial began.
        furthest: The most that it ever had behind it.
        values: What the present trial came to at the marks that it has passed itself.
        unsaved: Marks passed since a checkpoint of the present trial was stored.
        is_stored: Whether any was.
        origin: What the present trial is a copy of.
        copy: What its next trial is to be, decided upon; None: it begins from nothing.
    """

    place: int
    state: MemberState = MemberState.BEGINS
    trial: int = 0
    trials: int = 0
    point: Point = field(default_factory=dict)
    passed: int = 0
    begun: int = 0
    furthest: int = 0
    values: list[float] = field(default_factory=list)
    unsaved: int = 0
    is_stored: bool = False
    origin: "Copy | None" = None
    copy: "Copy | None" = None

    @property
    def standing(self) -> MarkResult:
        """At its last mark."""
        return self.values[-1], self.trial

    def reach(self, passed: int) -> None:
        self.passed = passed
        self.furthest = max(self.furthest, passed)


@dataclass(frozen=True, slots=True)
class Copy:
    """Of a member's trial, which trained with `original`; the member may have another by the time that the copy begins."""

    member: PopulationMember
    trial: int
    original: Point
    point: Point

    @property
    def passed(self) -> int | None:
        """How far the trial is by now; None once it is over without having been the member's last."""
        is_same = self.member.trial == self.trial and self.member.copy is None
        return self.member.passed if is_same else None

"""What a search decides that others carry out: trials to make, to have go on, and to end."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from muster.config import Point
from services.searcher.core.budget.limits import Limit
from services.searcher.core.methods.port import ResumeTrial


@dataclass(frozen=True, slots=True)
class Proposal:
    """A trial to be made and wanted now.

    Attributes:
        memo: What the sampler is given with the point when the search is rebuilt.
        source: The trial from whose newest checkpoint it starts.
        key: The name that a program gave it.
    """

    number: int
    point: Point
    seed: int
    decide_at: float | None
    memo: dict[str, JsonValue] = field(default_factory=dict)
    source: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class SearchActions:
    """What fills free places: trials to make, and paused ones to go on.

    Attributes:
        closed: The limit of the budget because of which no more trials are made from here on.
    """

    created: tuple[Proposal, ...] = ()
    going_on: tuple[ResumeTrial, ...] = ()
    closed: Limit | None = None


@dataclass(frozen=True, slots=True)
class OperationResult:
    """What a program's operations amount to: `kept` are trials that go on in their places, `stopped` those that end, and `dropped` keys
    of trials that end without having begun."""

    moves: SearchActions
    kept: tuple[ResumeTrial, ...] = ()
    stopped: tuple[int, ...] = ()
    dropped: tuple[str, ...] = ()

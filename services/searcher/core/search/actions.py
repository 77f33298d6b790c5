"""Actions of a search: trials to create, resume and stop."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from muster.config import Point
from services.searcher.core.budget.limits import Limit
from services.searcher.core.methods.interface import ResumeTrial


@dataclass(frozen=True, slots=True)
class Proposal:
    """A trial to create and request now.

    Attributes:
        memo: Data that the sampler needs with the point when the search is rebuilt.
        source: The trial from whose newest checkpoint it starts.
        key: The driver program's name for it.
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
    """Trials to create, and paused trials to resume.

    Attributes:
        closed: The limit of the budget because of which no further trials are created from here on.
    """

    created: tuple[Proposal, ...] = ()
    resumed: tuple[ResumeTrial, ...] = ()
    closed: Limit | None = None


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Effects of a driver program's operations.

    Attributes:
        continued: Running trials that continue.
        stopped: Trials to stop.
        dropped: Keys of trials that end before they started.
    """

    actions: SearchActions
    continued: tuple[ResumeTrial, ...] = ()
    stopped: tuple[int, ...] = ()
    dropped: tuple[str, ...] = ()

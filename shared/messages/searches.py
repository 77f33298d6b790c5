"""Searches that a program drives: what it tells, and what it is told. Asked and told by request: the program waits for the answer."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, JsonValue

from shared.ids import ExperimentId, TrialId
from shared.messages.base import Query, Record


class SearchOperation(Record):
    """One thing that a program tells its search; which fields count follows from the verb."""

    verb: Literal["create", "go_on", "stop", "progress", "shutdown", "fail"]
    key: str = ""
    point: dict[str, JsonValue] | None = None
    until: float | None = None
    source: str | None = None
    share: float | None = None
    reason: str | None = None


class SearchEvent(Record):
    """What a program is to know of a trial; several of one number happened at once."""

    number: int
    at: datetime
    kind: Literal["created", "validation", "ended"]
    key: str
    trial_id: TrialId | None = None
    trial: int | None = None
    point: dict[str, JsonValue] | None = None
    time: float | None = None
    value: float | None = None
    others: dict[str, float] = {}
    state: str | None = None
    reason: str | None = None


class SearchEventPage(BaseModel):
    """Events in order. `scanned`: there is none up to that number but these. `is_over`: the experiment has ended."""

    events: tuple[SearchEvent, ...]
    scanned: int
    acknowledged: int
    is_over: bool


class GetSearchEvents(Query[SearchEventPage], owner="searcher", name="search_events"):
    """What happened in a driven search behind number `after` (None: behind what is acknowledged). `driver`: who asks, to drive it."""

    experiment_id: ExperimentId
    after: int | None = None
    limit: int = 100
    driver: str | None = None


class DrivenSearch(BaseModel):
    """Who drives a search, and how far that is. `waiting`: events that are not acknowledged, the oldest of `waiting_since`."""

    driver: str | None = None
    seen_at: datetime | None = None
    acknowledged: int = 0
    position: int
    waiting: int = 0
    waiting_since: datetime | None = None


class GetDrivenSearch(Query[DrivenSearch], owner="searcher", name="driven_search"):
    """Who drives the search?"""

    experiment_id: ExperimentId


class SubmitSearchOperations(Query[DrivenSearch], owner="searcher", name="tell_search"):
    """Carry out all of the operations, or none; the same ones again change nothing. `acknowledge`: events up to there are done with.

    A request with an effect, as decision 0056 has it: the program waits for the answer, and says it again where none comes.
    """

    experiment_id: ExperimentId
    operations: tuple[SearchOperation, ...] = ()
    acknowledge: int | None = None
    driver: str | None = None

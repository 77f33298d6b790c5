"""Searches driven by a program: its operations, and the events for it. Requests, because the program waits for the answer."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, JsonValue

from shared.ids import ExperimentId, TrialId
from shared.messages.base import Query, Record


class SearchOperation(Record):
    """One operation of the program on its search. The verb determines which fields are used."""

    verb: Literal["create", "go_on", "stop", "progress", "shutdown", "fail"]
    key: str = ""
    point: dict[str, JsonValue] | None = None
    until: float | None = None
    source: str | None = None
    share: float | None = None
    reason: str | None = None


class SearchEvent(Record):
    """An event of a trial, for the program. Events with the same number happened together."""

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
    """Events in order. `scanned`: there are no others up to this number. `is_over`: the experiment has ended."""

    events: tuple[SearchEvent, ...]
    scanned: int
    acknowledged: int
    is_over: bool


class GetSearchEvents(Query[SearchEventPage], owner="searcher", name="search_events"):
    """Return events of a driven search after number `after` (None: after the acknowledged ones). `driver`: the client, if it drives the search."""

    experiment_id: ExperimentId
    after: int | None = None
    limit: int = 100
    driver: str | None = None


class DrivenSearch(BaseModel):
    """State of a driven search: its driver and its progress. `waiting`: events not acknowledged yet, the oldest since `waiting_since`."""

    driver: str | None = None
    seen_at: datetime | None = None
    acknowledged: int = 0
    position: int
    waiting: int = 0
    waiting_since: datetime | None = None


class GetDrivenSearch(Query[DrivenSearch], owner="searcher", name="driven_search"):
    """Return the state of a driven search."""

    experiment_id: ExperimentId


class SubmitSearchOperations(Query[DrivenSearch], owner="searcher", name="submit_operations"):
    """Carry out all operations, or none. Idempotent. `acknowledge`: number up to which events are processed.

    A request with an effect (decision 0056): the program waits for the answer and repeats the request if none comes.
    """

    experiment_id: ExperimentId
    operations: tuple[SearchOperation, ...] = ()
    acknowledge: int | None = None
    driver: str | None = None

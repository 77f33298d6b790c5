"""Requests and responses for custom searches, which a program drives."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, model_validator

from services.gateway.platform.schema import MAX_PAGE, JsonObject, Reference, Request, Resource

MAX_OPERATIONS = 1000
MAX_WAIT_S = 25.0

TrialKey = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
Driver = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]


class SearchVerb(StrEnum):
    """Kind of an operation on a custom search."""

    CREATE = "create"
    GO_ON = "go_on"
    STOP = "stop"
    PROGRESS = "progress"
    SHUTDOWN = "shutdown"
    FAIL = "fail"


_NEEDED = {
    SearchVerb.CREATE: ("key",),
    SearchVerb.GO_ON: ("key",),
    SearchVerb.STOP: ("key",),
    SearchVerb.PROGRESS: ("share",),
}
_ALLOWED = {
    SearchVerb.CREATE: {"key", "hyperparameters", "until", "source"},
    SearchVerb.GO_ON: {"key", "until"},
    SearchVerb.STOP: {"key"},
    SearchVerb.PROGRESS: {"share"},
    SearchVerb.SHUTDOWN: {"reason"},
    SearchVerb.FAIL: {"reason"},
}


class SearchOperation(Request):
    """One operation on a custom search. Repeating it has no effect."""

    verb: SearchVerb
    key: TrialKey | None = Field(
        default=None, description="The trial, by the name that the program chose when it created the trial."
    )
    hyperparameters: JsonObject | None = Field(
        default=None,
        description="For `create`: the trial's hyperparameters. If omitted, the config's sampler proposes them.",
    )
    until: Annotated[float | None, Field(gt=0)] = Field(
        default=None,
        description="For `create` and `go_on`: the time, in units of `searcher.time_metric`, at which the program is asked for the trial's next decision. If omitted, the trial trains to its end.",
    )
    source: TrialKey | None = Field(
        default=None, description="For `create`: start from the newest checkpoint of this trial."
    )
    share: Annotated[float | None, Field(ge=0, le=1)] = Field(
        default=None, description="For `progress`: completed share of the search."
    )
    reason: Annotated[str | None, Field(max_length=1000)] = Field(
        default=None, description="For `shutdown` and `fail`: the reason, shown to users."
    )

    @model_validator(mode="after")
    def _fits_its_verb(self) -> Self:
        given = {name for name in type(self).model_fields if getattr(self, name) is not None} - {"verb"}
        for name in _NEEDED.get(self.verb, ()):
            if name not in given:
                raise ValueError(f"operation '{self.verb}' needs `{name}`")
        if foreign := sorted(given - _ALLOWED[self.verb]):
            raise ValueError(f"operation '{self.verb}' does not accept `{foreign[0]}`")
        return self


class TellSearchRequest(Request):  # glossary: allowed
    """Operations on a custom search. They are applied in order, all or none."""

    experiment: Reference
    operations: Annotated[list[SearchOperation], Field(max_length=MAX_OPERATIONS)] = []
    acknowledge: Annotated[int | None, Field(ge=0)] = Field(
        default=None,
        description="Number of the last event that the program has handled. The operations are its response.",
    )
    driver: Driver | None = Field(default=None, description="Name of the program, shown to users.")


class DrivenSearch(Resource):
    """The driver of a custom search and its progress through the events."""

    experiment: UUID
    experiment_number: int
    driver: str | None = Field(default=None, description="The program that sent the last request.")
    seen_at: datetime | None = Field(default=None, description="Time of its last request.")
    acknowledged: int = Field(default=0, description="Number of the last acknowledged event.")
    waiting: int = Field(default=0, description="Number of events that are not acknowledged, up to 500.")
    waiting_since: datetime | None = Field(default=None, description="Time of the oldest of these events.")


class SearchRequest(Request):
    """The search of one experiment."""

    experiment: Reference


class SearchEventKind(StrEnum):
    """Kind of an event of a trial."""

    CREATED = "created"
    VALIDATION = "validation"
    ENDED = "ended"


class SearchEvent(Resource):
    """An event of a trial, for the program that drives the search."""

    number: int = Field(
        description="Increasing number. Simultaneous events have the same number and are acknowledged together."
    )
    time: datetime
    kind: SearchEventKind
    key: str = Field(description="The program's name of the trial.")
    trial: UUID | None = Field(default=None, description="Null for a trial that ended before it started.")
    trial_number: int | None = None
    hyperparameters: JsonObject | None = Field(default=None, description="For `created`.")
    at: float | None = Field(
        default=None, description="For `validation`: progress of the trial, in units of the time metric."
    )
    value: float | None = Field(
        default=None,
        description="The search's metric: for `validation` its value, for `ended` the trial's best. Null if it is not finite or the trial is invalid.",
    )
    others: dict[str, float] = Field(
        default={}, description="Values of the other metrics that the config's `metrics` and `limits` name."
    )
    state: str | None = Field(
        default=None, description="For `ended`: completed, stopped, error, cancelled or invalid."
    )
    reason: str | None = Field(default=None, description="For `ended`: the reason, if there is one.")


class SearchEventPage(Resource):
    """Events of a search, oldest first."""

    items: list[SearchEvent]
    after: int = Field(description="Pass this number as `after` to get the next events.")
    acknowledged: int
    over: bool = Field(description="True if the experiment has ended and these are its last events.")


class ListSearchEventsRequest(Request):
    """Events of one search, with long polling."""

    experiment: Reference
    after: Annotated[int | None, Field(ge=0)] = Field(
        default=None,
        description="Return events after this number. Default: after the last acknowledged event.",
    )
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 100
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = Field(
        default=0.0, description="Seconds to wait for an event if there is none yet."
    )
    driver: Driver | None = Field(
        default=None,
        description="Name of the program, shown to users. Setting it makes the program the driver of the search.",
    )

"""Searches that a program drives: what it tells, and what it is told."""

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
    """What a program may tell its search."""

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
    """One thing that a program tells its search. Told again it changes nothing."""

    verb: SearchVerb
    key: TrialKey | None = Field(
        default=None, description="The trial, by the name that the program chose when it created it."
    )
    hyperparameters: JsonObject | None = Field(
        default=None, description="Of `create`: the point; left out, the config's sampler proposes one."
    )
    until: Annotated[float | None, Field(gt=0)] = Field(
        default=None,
        description="Of `create` and `go_on`: the time (of `searcher.time_metric`) at which the program is asked again; left out: never.",
    )
    source: TrialKey | None = Field(
        default=None, description="Of `create`: the trial from whose newest checkpoint it starts."
    )
    share: Annotated[float | None, Field(ge=0, le=1)] = Field(
        default=None, description="Of `progress`: how much of the search is done."
    )
    reason: Annotated[str | None, Field(max_length=1000)] = Field(
        default=None, description="Of `shutdown` and `fail`: why, for people."
    )

    @model_validator(mode="after")
    def _fits_its_verb(self) -> Self:
        given = {name for name in type(self).model_fields if getattr(self, name) is not None} - {"verb"}
        for name in _NEEDED.get(self.verb, ()):
            if name not in given:
                raise ValueError(f"'{self.verb}' needs {name}")
        if foreign := sorted(given - _ALLOWED[self.verb]):
            raise ValueError(f"'{self.verb}' takes no {foreign[0]}")
        return self


class TellSearchRequest(Request):
    """Operations, carried out in order: all of them or none."""

    experiment: Reference
    operations: Annotated[list[SearchOperation], Field(max_length=MAX_OPERATIONS)] = []
    acknowledge: Annotated[int | None, Field(ge=0)] = Field(
        default=None,
        description="The events up to this number are done with: these operations are the answer.",
    )
    driver: Driver | None = Field(default=None, description="The program's name, for people.")


class DrivenSearch(Resource):
    """Who drives a search, and how far that is."""

    experiment: UUID
    experiment_number: int
    driver: str | None = Field(default=None, description="The program that asked or told last.")
    seen_at: datetime | None = Field(default=None, description="When it did.")
    acknowledged: int = Field(default=0, description="It is done with the events up to this number.")
    waiting: int = Field(default=0, description="How many events it is not done with; 500 stands for more.")
    waiting_since: datetime | None = Field(default=None, description="When the oldest of them happened.")


class SearchRequest(Request):
    """The search of one experiment."""

    experiment: Reference


class SearchEventKind(StrEnum):
    """What happened to a trial."""

    CREATED = "created"
    VALIDATION = "validation"
    ENDED = "ended"


class SearchEvent(Resource):
    """What a program is to know of a trial."""

    number: int = Field(
        description="Rises; events that happened at once share it. Acknowledge all of a number."
    )
    time: datetime
    kind: SearchEventKind
    key: str = Field(description="The program's name of the trial.")
    trial: UUID | None = Field(default=None, description="None for a trial that ended without having begun.")
    trial_number: int | None = None
    hyperparameters: JsonObject | None = Field(default=None, description="Of `created`.")
    at: float | None = Field(default=None, description="Of `validation`: how far it is, in the time metric.")
    value: float | None = Field(
        default=None,
        description="The search's metric: of `validation` there, of `ended` its best. Null where it is no finite number, or the trial was no good.",
    )
    others: dict[str, float] = Field(
        default={}, description="Beside the value: what the config's `metrics` and `limits` name further."
    )
    state: str | None = Field(
        default=None, description="Of `ended`: completed, stopped, error, cancelled, invalid."
    )
    reason: str | None = Field(default=None, description="Of `ended`: why, where there is something to say.")


class SearchEventPage(Resource):
    """Events of a search, oldest first."""

    items: list[SearchEvent]
    after: int = Field(description="There is no other event up to this number: go on behind it.")
    acknowledged: int
    over: bool = Field(description="True when the experiment has ended and these are its last events.")


class ListSearchEventsRequest(Request):
    """Events of one search; waits for the first where there is none yet."""

    experiment: Reference
    after: Annotated[int | None, Field(ge=0)] = Field(
        default=None, description="Only events behind this number; left out: behind what is acknowledged."
    )
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE)] = 100
    wait: Annotated[float, Field(ge=0, le=MAX_WAIT_S)] = Field(
        default=0.0, description="So many seconds are waited where there is no event yet."
    )
    driver: Driver | None = Field(
        default=None,
        description="The program's name, for people: who gives one counts as driving the search.",
    )

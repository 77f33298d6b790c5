"""Changes of what a tenant has, as they are streamed."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, Request, Resource


class EventKind(StrEnum):
    """What changed."""

    EXPERIMENT = "experiment"
    TRIAL = "trial"
    RUN = "run"
    CHECKPOINT = "checkpoint"
    MODEL = "model"
    VERSION = "version"
    BUDGET = "budget"
    REQUEST = "request"
    LABELS = "labels"


class Event(Resource):
    """One change of an entity of the caller's tenant, with its whole state after it."""

    id: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    time: datetime
    kind: EventKind
    change: str = Field(description="A past participle, such as `changed` or `granted`.")
    entity: UUID
    experiment: UUID | None = None
    version: int
    resource: JsonObject = Field(
        description="As its owner told it: the message that docs/events.md names for the kind. GET shows the API's resource of the entity."
    )


class MachineEventKind(StrEnum):
    """What changed of what is rented: a machine, or what a pool may rent and what keeps it from growing."""

    INSTANCE = "instance"
    PROVIDER = "provider"


class MachineEvent(Resource):
    """One change of a rented machine or of a pool of them, with its whole state after it."""

    id: str = Field(description="Give it as `after` (or Last-Event-ID) to go on behind it.")
    time: datetime
    kind: MachineEventKind
    change: str = Field(description="A past participle, such as `changed`.")
    pool: str
    version: int
    resource: JsonObject


class WatchMachineEventsRequest(Request):
    """All changes of rented machines and their pools from `after` on, in order and without a gap; without `after` from now on."""

    after: Annotated[str | None, Field(max_length=200)] = None
    kind: Annotated[list[MachineEventKind], Field(max_length=8)] = Field(
        default=[], description="None: instance and provider. A kind that is added is told to who names it."
    )
    pool: Annotated[str | None, Field(min_length=1, max_length=100)] = None


class WatchEventsRequest(Request):
    """All changes from `after` on, in order and without a gap; without `after` from now on."""

    after: Annotated[str | None, Field(max_length=200)] = None
    kind: Annotated[list[EventKind], Field(max_length=len(EventKind))] = Field(
        default=[],
        description="None: experiment, trial, run, checkpoint, model and version. The others are told to who names them.",
    )
    experiment: Annotated[str | None, Field(min_length=1, max_length=200)] = None

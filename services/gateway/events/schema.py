"""API schema of the event streams."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, Request, Resource


class EventKind(StrEnum):
    """Kind of the changed entity."""

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
    """A change of an entity of the caller's tenant, with the entity's new state."""

    id: str = Field(description="Send it as `after` or Last-Event-ID to resume after this event.")
    time: datetime
    kind: EventKind
    change: str = Field(description="The change, such as `changed` or `granted`.")
    entity: UUID
    experiment: UUID | None = None
    version: int
    resource: JsonObject = Field(
        description="The owner's message; docs/events.md lists the type per kind. To get the API resource of the entity, use its GET operation."
    )


class MachineEventKind(StrEnum):
    """`instance`: a rented machine changed. `provider`: the available machines of a pool, or the reason why it cannot grow, changed."""

    INSTANCE = "instance"
    PROVIDER = "provider"


class MachineEvent(Resource):
    """A change of a rented machine or a machine pool, with its new state."""

    id: str = Field(description="Send it as `after` or Last-Event-ID to resume after this event.")
    time: datetime
    kind: MachineEventKind
    change: str = Field(description="The change, such as `changed`.")
    pool: str
    version: int
    resource: JsonObject


class WatchMachineEventsRequest(Request):
    """Changes of rented machines and their pools after the event `after`, in order and without gaps; without `after`, from now on."""

    after: Annotated[str | None, Field(max_length=200)] = None
    kind: Annotated[list[MachineEventKind], Field(max_length=8)] = Field(
        default=[],
        description="Kinds to stream; by default instance and provider. Kinds added later must be named.",
    )
    pool: Annotated[str | None, Field(min_length=1, max_length=100)] = None


class WatchEventsRequest(Request):
    """Changes after the event `after`, in order and without gaps; without `after`, from now on."""

    after: Annotated[str | None, Field(max_length=200)] = None
    kind: Annotated[list[EventKind], Field(max_length=len(EventKind))] = Field(
        default=[],
        description="Kinds to stream; by default experiment, trial, run, checkpoint, model and version. Other kinds must be named.",
    )
    experiment: Annotated[str | None, Field(min_length=1, max_length=200)] = None

"""Changes of what a tenant has, as they are streamed."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.api.base import JsonObject, Request, Resource


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
    resource: JsonObject


class WatchEventsRequest(Request):
    """All changes from `after` on, in order and without a gap; without `after` from now on."""

    after: Annotated[str | None, Field(max_length=200)] = None
    kind: Annotated[list[EventKind], Field(max_length=len(EventKind))] = Field(
        default=[],
        description="None: experiment, trial, run, checkpoint, model and version. The others are told to who names them.",
    )
    experiment: Annotated[str | None, Field(min_length=1, max_length=200)] = None

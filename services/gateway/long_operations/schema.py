"""What was ordered and takes longer than a request waits for: looked at by its id until its owner has answered."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, ListRequest, Reference, Request, Resource
from shared.expressions.fields import Listing


class OperationState(StrEnum):
    """How far an operation is."""

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"


class LongOperation(Resource):
    """An operation whose request was answered before its outcome was known; it can be looked at for a day."""

    id: UUID
    operation: str = Field(description="What was asked for, such as `PauseExperiment`.")
    state: OperationState
    created_at: datetime
    result: JsonObject | None = Field(
        default=None, description="When it is done: what the request would have been answered with."
    )
    code: str | None = Field(default=None, description="When it was refused: the stable word of the reason.")
    message: str | None = Field(default=None, description="When it was refused: why.")
    hint: str | None = None
    waiting: str | None = Field(
        default=None,
        description="While it runs: that it is stored and not on its way yet, because the message bus accepts no messages.",
    )


class LongOperationPage(Resource):
    """A page of operations, newest first."""

    items: list[LongOperation]
    next_cursor: str | None = None


class OperationRequest(Request):
    """One operation by the id that its request was answered with."""

    operation: Reference


class ListOperationsRequest(ListRequest):
    """The caller's own operations of the last day that took longer than a request waits. A filtered page may hold fewer than its limit and have a next one."""

    listing = Listing.of(LongOperation, *("operation", "created_at"), usual="-id", reckoned=("state",))

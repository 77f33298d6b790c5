"""The resource for a long operation: one that takes longer than its request waits."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, Resource


class OperationState(StrEnum):
    """State of a long operation."""

    RUNNING = "running"
    DONE = "done"
    REFUSED = "refused"


class LongOperation(Resource):
    """A long operation, whose request was answered before its outcome was known. It can be read for 24 hours."""

    id: UUID
    operation: str = Field(description="Name of the requested operation, such as `PauseExperiment`.")
    state: OperationState
    created_at: datetime
    result: JsonObject | None = Field(
        default=None, description="For `done`: the resource that the request would have returned."
    )
    code: str | None = Field(default=None, description="For `refused`: the stable error code.")
    message: str | None = Field(default=None, description="For `refused`: the error message.")
    hint: str | None = None
    waiting: str | None = Field(
        default=None,
        description="Set while the operation is stored but not sent, because the message bus accepts no messages.",
    )

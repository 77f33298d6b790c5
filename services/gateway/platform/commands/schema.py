"""An operation that takes longer than its request waits, as users see it."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import JsonObject, Resource


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

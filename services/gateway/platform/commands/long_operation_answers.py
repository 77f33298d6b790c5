"""Answering before the outcome is known: what was ordered goes on, and becomes a thing of its own that can be looked at (`long`)."""

from collections.abc import Awaitable
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from muster.errors import Transient
from services.gateway.platform.call import Call
from services.gateway.platform.commands import operation_store as ordered
from services.gateway.platform.commands.schema import LongOperation, OperationState
from services.gateway.platform.schema import Resource

T = TypeVar("T")


class OperationInProgress(Transient):
    """The owner has not answered within the time that a request waits.

    Attributes:
        operation: what goes on.
        present: what the request is about, as it is until then; None: the edges tell of the operation alone.
    """

    def __init__(self, operation: LongOperation, present: Resource | None = None) -> None:
        state = (
            operation.waiting
            or "the owner has not answered yet; the request is stored and will be carried out"
        )
        super().__init__(
            f"{state}: operation {operation.id}",
            retry_after_s=1.0,
            code="still_working",
            may_take_effect=True,
        )
        self.operation = operation
        self.present = present


async def deferred(
    call: Call,
    operation_id: UUID,
    *,
    entity: UUID | None = None,
    version: int = 0,
    position: int = 0,
    present: Resource | None = None,
    wanted: BaseModel | None = None,
) -> OperationInProgress:
    """Remembers what was ordered, and returns the error that tells of it.

    Args:
        entity: what it changes, where it is known already.
        version: of the entity, as it was before.
        position: where the tenant's feed stood before.
        present: the entity as it is shown now.
        wanted: how the scheduler's view will tell that it has worked, of what is the site's.
    """
    async with call.transaction() as unit:
        values = {
            "tenant": call.tenant,
            "id": operation_id,
            "operation": call.operation,
            "orderer": orderer_of(call),
            "entity": entity,
            "version": version,
            "position": position,
            "created_at": unit.now,
            "wanted": wanted.model_dump(mode="json") if wanted is not None else None,
        }
        await ordered.insert_ordered(unit.connection, values)
        now = unit.now
    state = OperationState.RUNNING
    operation = LongOperation(
        id=operation_id,
        operation=call.operation,
        state=state,
        created_at=now,
        waiting=waiting_for_bus(call),
    )
    return OperationInProgress(operation, present)


async def unless_silent(present: Awaitable[T]) -> T | None:
    """What a thing is like now; None where its owner does not answer: what was ordered is deferred all the same."""
    try:
        return await present
    except Transient:
        return None


def orderer_of(call: Call) -> UUID:
    """Whose operations these are: the user's, or the token's where it is nobody's."""
    return call.caller.user or call.caller.token_id


def waiting_for_bus(call: Call) -> str | None:
    """Return why what this request has stored is not on its way yet; None while the bus takes messages."""
    since = call.doors.site.bus.since()
    if since is None:
        return None
    return (
        f"stored; it waits for the message bus, which has accepted no messages since {since:%H:%M:%S} UTC,"
        " and takes effect when the bus accepts messages again"
    )

"""Answers requests before their outcome is known: the operation continues as a long operation that clients can poll."""

from collections.abc import Awaitable
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel

from muster.errors import Transient
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands import operation_store as long_operations
from services.gateway.platform.commands.schema import LongOperation, OperationState
from services.gateway.platform.schema import Resource

T = TypeVar("T")


class OperationInProgress(Transient):
    """The owner has not answered within the time that a request waits.

    Attributes:
        operation: the long operation that continues.
        present: the requested resource in its current state; None: the answer contains the operation only.
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
    desired_state: BaseModel | None = None,
) -> OperationInProgress:
    """Store the long operation and return the error that carries it.

    Args:
        entity: the entity that the operation changes, if it is known already.
        version: the entity's version before the operation.
        position: the end of the tenant's feed before the operation.
        present: the resource in its current state.
        desired_state: for operations on the site's machines, the state to look for in the scheduler's view.
    """
    async with call.transaction() as unit:
        values = {
            "tenant": call.tenant,
            "id": operation_id,
            "operation": call.operation,
            "requester": requester_of(call),
            "entity": entity,
            "version": version,
            "position": position,
            "created_at": unit.now,
            "desired_state": desired_state.model_dump(mode="json") if desired_state is not None else None,
        }
        await long_operations.insert_long_operation(unit.connection, values)
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
    """Return the current resource, or None if its owner does not answer, so that the operation is deferred anyway."""
    try:
        return await present
    except Transient:
        return None


def requester_of(call: Call) -> UUID:
    """Return the id that owns the caller's operations: the user's, or the token's if it has no user."""
    return call.caller.user or call.caller.token_id


def waiting_for_bus(call: Call) -> str | None:
    """Return why the stored command of this request is not sent yet; None while the bus accepts messages."""
    since = call.dependencies.site.bus.since()
    if since is None:
        return None
    return (
        f"the request is stored; the message bus has accepted no messages since {since:%H:%M:%S} UTC,"
        " and the request takes effect when it does again"
    )

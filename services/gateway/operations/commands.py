"""Commands to the owners: committed to the outbox, then waited for until the owner's answer is projected."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, MusterError, NotFound, Rejected, Transient
from services.gateway.operations.call import Call
from services.gateway.operations.once import forget
from services.gateway.store.events import feed_bounds, load_refusal, was_told
from shared.ids import TenantId
from shared.messages.base import Command

T = TypeVar("T")
_POLL_S = 0.25
_CONFLICTS = frozenset(
    {
        "model_exists",
        "version_changed",
        "version_conflict",
        "version_in_use",
        "checkpoint_not_saved",
        "checkpoint_taken",
        "stage_pending",
        "stage_not_pending",
        "stage_unreachable",
        "own_approval",
        "approved_already",
    }
)
"""Refusals that are a matter of the present state: the announcement of one carries its code only."""


async def send(call: Call, command: Command) -> None:
    """Commits the command; from then on it is not lost."""
    async with call.doors.units.tenant(call.tenant) as unit:
        unit.emit(command)


async def wait_for(
    call: Call,
    operation_id: UUID,
    look: Callable[[AsyncConnection], Awaitable[T | None]],
    sent_for: TenantId | None = None,
) -> T | None:
    """What `look` finds once the command has worked; None when no answer came within the time for it.

    Args:
        sent_for: whose command it is, as a refusal comes back to that tenant: `ids.SITE` for the site's; None: the caller's.

    Raises:
        MusterError: the owner refused.
    """
    clock = call.doors.clock
    tenant = sent_for or call.tenant
    end = clock.monotonic() + call.doors.command_wait_s
    with call.doors.feed.waiting(tenant) as waiter:
        while True:
            async with call.doors.database.tenant(tenant) as connection:
                found = await look(connection)
                refusal = None if found is not None else await load_refusal(connection, operation_id)
            if found is not None:
                return found
            if refusal is not None:
                raise refused(refusal)
            left = end - clock.monotonic()
            if left <= 0:
                return None
            await waiter.wait(min(left, _POLL_S))


async def created(call: Call, entity: UUID, look: Callable[[AsyncConnection], Awaitable[Any | None]]) -> Any:
    """The row of what was just ordered under its own id. A refusal frees the idempotency key.

    Raises:
        Transient: the owner has not answered yet.
    """
    try:
        row = await wait_for(call, entity, look)
    except MusterError:
        await forget(call)
        raise
    return _there(row)


async def carried_out(
    call: Call,
    command: Command,
    entity: UUID,
    look: Callable[[AsyncConnection], Awaitable[Any | None]],
) -> Any:
    """Sends a command on an entity, and returns the row that `look` finds of it once the command has worked.

    The feed tells that it has: the row itself may say already what a later command made of it.

    Raises:
        Transient: the owner has not answered yet.
    """
    async with call.doors.database.tenant(call.tenant) as connection:
        _, before = await feed_bounds(connection)

    async def made(connection: AsyncConnection) -> Any | None:
        has_worked = await was_told(connection, before, entity, command.operation_id)
        return await look(connection) if has_worked else None

    await send(call, command)
    return _there(await wait_for(call, command.operation_id, made))


def _there(row: Any | None) -> Any:
    if row is None:
        raise Transient(
            "the owner has not answered yet; the request is kept and will be carried out",
            retry_after_s=2.0,
            code="still_working",
        )
    return row


def refused(row: Any) -> Exception:
    """The error that a refused command is told with."""
    if row.code == "not_found":
        return NotFound(row.message.removesuffix(" was not found"), row.hint)
    if row.code in _CONFLICTS or row.code.startswith("experiment_is_"):
        return Conflict(row.code, row.message, hint=row.hint)
    return Rejected(row.code, row.message, hint=row.hint)

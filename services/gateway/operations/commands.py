"""Commands to the owners: committed to the outbox, then waited for until the owner's answer is projected."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.operations.call import Call
from services.gateway.store.events import load_refusal
from shared.ids import TenantId
from shared.messages.base import Command

T = TypeVar("T")
_POLL_S = 0.25
_CONFLICTS = frozenset(
    {"model_exists", "version_changed", "version_conflict", "checkpoint_not_saved", "checkpoint_taken"}
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


def refused(row: Any) -> Exception:
    """The error that a refused command is told with."""
    if row.code == "not_found":
        return NotFound(row.message.removesuffix(" was not found"), row.hint)
    if row.code in _CONFLICTS or row.code.startswith("experiment_is_"):
        return Conflict(row.code, row.message, hint=row.hint)
    return Rejected(row.code, row.message, hint=row.hint)

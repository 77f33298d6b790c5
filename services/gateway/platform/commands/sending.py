"""Commands to the owners: committed to the outbox, then waited for until the owner's answer is projected."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected, Transient
from services.gateway.platform.call import Call
from services.gateway.platform.commands.idempotency import IdempotencyClaim, claim, forget, remember
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.outcomes import TenantOutcome
from services.gateway.platform.commands.store import load_refusal
from services.gateway.platform.events.store import feed_end, find_changed_entity
from services.gateway.platform.preconditions import VERSION_CONFLICTS, precondition_failed
from services.gateway.platform.schema import Request, Resource
from shared.ids import TenantId, new_id
from shared.messages.base import Command, Event

T = TypeVar("T")
R = TypeVar("R", bound=Resource)
Order = Callable[[AsyncConnection, UUID], Awaitable[Command]]
"""Finds what a request names, and makes the command under the operation's id. What it raises leaves the idempotency key free."""
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
        "experiment_registered",
        "experiment_in_use",
    }
)
"""Refusals that are a matter of the present state: the announcement of one carries its code only."""


@dataclass(frozen=True, slots=True)
class CommandTarget(Generic[R]):
    """What commands change: its word in the feed, how its row is found by id, and how it is shown."""

    kind: str
    load: Callable[[AsyncConnection, UUID], Awaitable[Any | None]]
    render: Callable[[Any], R]
    shown: type[R]


def outcome_from_feed(entity: CommandTarget[R]) -> TenantOutcome:
    """How `carried_out` is seen to have worked once its request was answered: the feed tells it."""

    async def find(connection: AsyncConnection, row: Any) -> R | None:
        changed = await find_changed_entity(connection, row.position, entity.kind, row.id)
        now = await entity.load(connection, changed) if changed is not None else None
        return entity.render(now) if now is not None else None

    return TenantOutcome(find)


async def send(call: Call, command: Command) -> None:
    """Commits the command; from then on it is not lost."""
    async with call.transaction() as unit:
        unit.emit(command)


async def wait_for(
    call: Call,
    operation_id: UUID,
    look: Callable[[AsyncConnection], Awaitable[T | None]] | None = None,
    ask: Callable[[], Awaitable[T | None]] | None = None,
    sent_for: TenantId | None = None,
    about: UUID | None = None,
    is_new: bool = False,
    answered: Callable[[Event], T] | None = None,
) -> T | None:
    """What `look` finds, or `ask` learns from the owner, once the command has worked; None when no answer came within the time for it.

    Args:
        sent_for: whose command it is, as a refusal comes back to that tenant: `ids.SITE` for the site's; None: the caller's.
        about: the experiment that it changes; None: perhaps any.
        is_new: it was sent just now, so that nothing can be found yet.
        answered: what the owner's answer says that `look` would find, where this replica has projected it itself; None: it is looked for.

    Raises:
        MusterError: the owner refused.
    """
    clock = call.doors.clock
    tenant = sent_for or call.tenant
    end = clock.monotonic() + call.doors.timeouts.command_s
    awaited = None if about is None else frozenset({about, operation_id})
    with call.doors.feed.waiting(tenant, awaited) as waiter:
        if is_new:
            await waiter.wait(min(call.doors.timeouts.command_s, _POLL_S))
        while True:
            if answered is not None and waiter.answer is not None:
                call.doors.feed.note(tenant)
                return answered(waiter.answer)
            try:
                # No session is open meanwhile: an owner that is slow to answer would keep its connection from others.
                found = await ask() if ask is not None else None
                async with call.doors.database.read(tenant) as connection:
                    if look is not None:
                        found = await look(connection)
                    refusal = None if found is not None else await load_refusal(connection, operation_id)
            except Transient:
                # Who is asked does not answer: the command stands, and may work within the time that is left.
                found = refusal = None
            if found is not None:
                call.doors.feed.note(tenant)
                return found
            if refusal is not None:
                raise refused(refusal, call)
            left = end - clock.monotonic()
            if left <= 0:
                return None
            await waiter.wait(min(left, _POLL_S))


async def carried_out(call: Call, request: Request, order: Order, entity: CommandTarget[R]) -> R:
    """Orders what a request asks for, and returns what the command made of its entity, once it has worked.

    The feed tells that it has: the row itself may say already what a later command made of it. A request that comes again under its
    idempotency key orders nothing: it waits for the first's command, or has its answer. A refusal frees the key.

    Raises:
        StillWorking: the owner has not answered yet.
    """
    ordered = await _ordered(call, request, order)
    if ordered.response is not None:
        return entity.shown.model_validate(ordered.response)

    async def made(connection: AsyncConnection) -> Any | None:
        changed = await find_changed_entity(connection, ordered.position, entity.kind, ordered.operation_id)
        return await entity.load(connection, changed) if changed else None

    try:
        row = await wait_for(call, ordered.operation_id, made)
    except (Rejected, Conflict):  # The owner's refusal; what is Transient leaves the command on its way.
        await forget(call, ordered.operation_id)
        raise
    if row is None:
        raise await deferred(call, ordered.operation_id, position=ordered.position)
    async with call.transaction() as unit:
        return await remember(call, unit.connection, entity.render(row))


async def _ordered(call: Call, request: Request, order: Order) -> IdempotencyClaim:
    """The command that this request sends, or sent when it came before under its key."""
    async with call.transaction() as unit:
        position = await feed_end(unit.connection, call.tenant)
        operation_id = new_id(call.doors.clock)
        earlier = await claim(call, unit, request, operation_id, position)
        if earlier is not None:
            return earlier
        unit.emit(await order(unit.connection, operation_id))
        return IdempotencyClaim(operation_id, position)


def refused(row: Any, call: Call) -> Exception:
    """The error that a refused command is told with."""
    if call.if_match is not None and row.code in VERSION_CONFLICTS:
        return precondition_failed(row.message)
    if row.code == "not_found":
        return NotFound(row.message.removesuffix(" was not found"), row.hint)
    if row.code in _CONFLICTS or row.code.startswith(("experiment_is_", "trial_is_")):
        return Conflict(row.code, row.message, hint=row.hint)
    return Rejected(row.code, row.message, hint=row.hint)

"""Sends commands to the services that own the entities: commits them to the outbox and waits until the owner's answer is projected."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected, Transient
from services.gateway.platform.call_context import Call
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
"""Resolves the references of a request and returns the command for the operation's id. If it raises, the idempotency key stays free."""
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
"""Codes of refusals that are conflicts with the current state. The refusal event carries only the code."""


@dataclass(frozen=True, slots=True)
class CommandTarget(Generic[R]):
    """The kind of entity that commands change: its kind in the feed, and how its row is loaded and rendered."""

    kind: str
    load: Callable[[AsyncConnection, UUID], Awaitable[Any | None]]
    render: Callable[[Any], R]
    resource_type: type[R]


def outcome_from_feed(entity: CommandTarget[R]) -> TenantOutcome:
    """Return the finder for the outcome of a long operation of `carried_out`, which reads it from the feed."""

    async def find(connection: AsyncConnection, row: Any) -> R | None:
        changed = await find_changed_entity(connection, row.position, entity.kind, row.id)
        now = await entity.load(connection, changed) if changed is not None else None
        return entity.render(now) if now is not None else None

    return TenantOutcome(find)


async def send(call: Call, command: Command) -> None:
    """Commit the command to the outbox. It is not lost after that."""
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
    """Wait until the command has taken effect and return what `look` or `ask` finds. Return None if the timeout expires first.

    Args:
        look: finds the effect in the gateway's tables.
        ask: asks the owner for the effect.
        sent_for: tenant that receives a refusal: `ids.SITE` for commands of the site; None: the caller's tenant.
        about: the experiment that the command changes; None: any.
        is_new: the command was sent just now, so wait once before the first look.
        answered: converts the owner's answer to the result of `look`, if this replica has projected the answer itself.

    Raises:
        MusterError: the owner refused the command.
    """
    clock = call.dependencies.clock
    tenant = sent_for or call.tenant
    end = clock.monotonic() + call.dependencies.timeouts.command_s
    awaited = None if about is None else frozenset({about, operation_id})
    with call.dependencies.feed.waiting(tenant, awaited) as waiter:
        if is_new:
            await waiter.wait(min(call.dependencies.timeouts.command_s, _POLL_S))
        while True:
            if answered is not None and waiter.answer is not None:
                call.dependencies.feed.invalidate(tenant)
                return answered(waiter.answer)
            try:
                # Ask without an open session: a slow owner would otherwise hold a database connection.
                found = await ask() if ask is not None else None
                async with call.dependencies.database.read(tenant) as connection:
                    if look is not None:
                        found = await look(connection)
                    refusal = None if found is not None else await load_refusal(connection, operation_id)
            except Transient:
                # The owner does not answer. The command stays valid and may still take effect in time.
                found = refusal = None
            if found is not None:
                call.dependencies.feed.invalidate(tenant)
                return found
            if refusal is not None:
                raise refused(refusal, call)
            left = end - clock.monotonic()
            if left <= 0:
                return None
            await waiter.wait(min(left, _POLL_S))


async def carried_out(call: Call, request: Request, order: Order, entity: CommandTarget[R]) -> R:
    """Send the command of a request and return the entity once the command has taken effect.

    The feed shows that it has, as the row may already contain later changes. A repeated request with the same idempotency key sends no
    command: it waits for the first command or gets its answer. A refusal frees the key.

    Raises:
        StillWorking: the owner has not answered within the timeout.
    """
    ordered = await _ordered(call, request, order)
    if ordered.response is not None:
        return entity.resource_type.model_validate(ordered.response)

    async def made(connection: AsyncConnection) -> Any | None:
        changed = await find_changed_entity(connection, ordered.position, entity.kind, ordered.operation_id)
        return await entity.load(connection, changed) if changed else None

    try:
        row = await wait_for(call, ordered.operation_id, made)
    except (
        Rejected,
        Conflict,
    ):  # The owner refused. After a Transient error the command is still on its way.
        await forget(call, ordered.operation_id)
        raise
    if row is None:
        raise await deferred(call, ordered.operation_id, position=ordered.position)
    async with call.transaction() as unit:
        return await remember(call, unit.connection, entity.render(row))


async def _ordered(call: Call, request: Request, order: Order) -> IdempotencyClaim:
    """Send the command of this request, or return the claim of an earlier request with the same key."""
    async with call.transaction() as unit:
        position = await feed_end(unit.connection, call.tenant)
        operation_id = new_id(call.dependencies.clock)
        earlier = await claim(call, unit, request, operation_id, position)
        if earlier is not None:
            return earlier
        unit.emit(await order(unit.connection, operation_id))
        return IdempotencyClaim(operation_id, position)


def refused(row: Any, call: Call) -> Exception:
    """Return the error for a refused command."""
    if call.if_match is not None and row.code in VERSION_CONFLICTS:
        return precondition_failed(row.message)
    if row.code == "not_found":
        return NotFound(row.message.removesuffix(" was not found"), row.hint)
    if row.code in _CONFLICTS or row.code.startswith(("experiment_is_", "trial_is_")):
        return Conflict(row.code, row.message, hint=row.hint)
    return Rejected(row.code, row.message, hint=row.hint)

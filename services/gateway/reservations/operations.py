"""Operations on slot reservations. The scheduler stores and enforces them."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from muster.errors import Conflict, NotFound, Rejected, Transient
from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim_apart, forget, remember
from services.gateway.platform.commands.long_operation_answers import waiting_for_bus
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.lists.paging import choose_page, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, KEY, MANAGE, NATURAL, SAFE
from services.gateway.platform.references import parse_uuid
from services.gateway.pools.find import view_of
from services.gateway.reservations.schema import (
    CreateReservationRequest,
    ListReservationsRequest,
    Reservation,
    ReservationPage,
    ReservationRequest,
)
from services.gateway.tenants.find import named_tenant
from shared.ids import SITE, TenantId, derived_id, new_id
from shared.messages.base import Command
from shared.messages.reservations import CancelReservation, GetReservations, ReservationView, ReserveSlots

LONG_AGO = timedelta(minutes=5)


async def create_reservation(call: Call, request: CreateReservationRequest) -> Reservation:
    """Reserve slots of a pool for a time window. During the window, only the holder can use them."""
    begins_at, ends_at = _window(call, request)
    pool = await view_of(call, request.pool)
    tenant, name = await named_tenant(call, request.tenant)
    parts = (pool.pool, request.workspace or "", begins_at.isoformat(), ends_at.isoformat(), request.slots)
    command = ReserveSlots(
        operation_id=new_id(call.dependencies.clock),
        reservation_id=derived_id(tenant, "reservation", *parts),
        pool=pool.pool,
        tenant=tenant,
        workspace=request.workspace,
        slots=request.slots,
        begins_at=begins_at,
        ends_at=ends_at,
    )
    earlier = await claim_apart(call, request, command.operation_id)
    if earlier is not None and earlier.response is not None:
        return Reservation.model_validate(earlier.response)
    await _send(call, command)  # Idempotent: the reservation's id is derived from its contents.

    async def ask() -> ReservationView | None:
        return await _find(call, command.reservation_id)

    try:
        found = await wait_for(call, command.operation_id, ask=ask, sent_for=SITE)
    except (Rejected, Conflict):
        await forget(call, earlier.operation_id if earlier else command.operation_id)
        raise
    if found is None:
        raise _unanswered(call)
    warnings = [*_past_start(call, begins_at), *await warn_unused_workspace(call, tenant, request.workspace)]
    answer = _render(found, name).model_copy(update={"warnings": warnings})
    async with call.transaction() as unit:
        return await remember(call, unit.connection, answer)


async def list_reservations(call: Call, request: ListReservationsRequest) -> ReservationPage:
    """List the current and future reservations of the caller's tenant, by start time unless `sort` is set. Operators see all tenants."""
    wanted = read_wanted(call, request)
    found = await _load(call)
    names = await _names(call, {one.tenant for one in found})
    every = [_render(one, names.get(one.tenant, str(one.tenant))) for one in found]
    items, cursor = choose_page(call, request, wanted, every)
    return ReservationPage(items=items, next_cursor=cursor)


async def delete_reservation(call: Call, request: ReservationRequest) -> Reservation:
    """Cancel a reservation. Runs of its holder continue."""
    name = parse_uuid(request.reservation)
    found = await _find(call, name) if name else None
    if found is None:
        raise NotFound(
            f"reservation {request.reservation}",
            "`muster reservation list` lists current and future reservations",
        )
    names = await _names(call, {found.tenant})
    cancelled = _render(found, names.get(found.tenant, str(found.tenant)))
    call.set_audit_fields(before=cancelled)
    command = CancelReservation(
        operation_id=new_id(call.dependencies.clock), reservation_id=found.reservation_id
    )
    await _send(call, command)

    async def ask() -> ReservationView | None:
        return found if await _find(call, found.reservation_id) is None else None

    if await wait_for(call, command.operation_id, ask=ask, sent_for=SITE) is None:
        raise _unanswered(call)
    return cancelled


def _unanswered(call: Call) -> Transient:
    """Return the error for a stored command without an answer. The dispatcher adds that it may still take effect."""
    return Transient(waiting_for_bus(call) or "the scheduler has not answered yet", retry_after_s=2.0)


async def _send(call: Call, command: Command) -> None:
    async with call.site_transaction() as unit:
        unit.emit(command, tenant=SITE)


async def _find(call: Call, name: UUID) -> ReservationView | None:
    return next((one for one in await _load(call) if one.reservation_id == name), None)


async def _load(call: Call) -> tuple[ReservationView, ...]:
    """Load the reservations that the caller may read."""
    tenant = SITE if call.caller.is_site_operator else call.tenant
    found = (
        await call.dependencies.bus.ask(GetReservations(), tenant, call.dependencies.timeouts.query_s)
    ).items
    seen = call.caller.grants
    return tuple(one for one in found if seen.holds(Permission.CLUSTER_READ, Scope(one.workspace)))


async def _names(call: Call, tenants: set[TenantId]) -> dict[TenantId, str]:
    if not call.caller.is_site_operator:
        return {call.tenant: call.caller.tenant_name}
    async with call.dependencies.database.system() as connection:
        return dict(await access.load_tenant_names(connection, tenants))


def _window(call: Call, request: CreateReservationRequest) -> tuple[datetime, datetime]:
    begins_at, ends_at = (
        at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        for at in (request.begins_at, request.ends_at)
    )
    if begins_at >= ends_at:
        raise Rejected(
            "bad_window",
            f"the window's end, {ends_at:%Y-%m-%d %H:%M:%S} UTC, is not after its start, {begins_at:%Y-%m-%d %H:%M:%S} UTC",
            "ends_at",
            "set `ends_at` to a time after `begins_at`",
        )
    if ends_at <= call.dependencies.clock.now():
        raise Rejected(
            "bad_window",
            f"the window's end, {ends_at:%Y-%m-%d %H:%M:%S} UTC, is in the past",
            "ends_at",
            "set `ends_at` to a later time",
        )
    return begins_at, ends_at


def _past_start(call: Call, begins_at: datetime) -> list[str]:
    """Return a warning if the window started long ago: the date may be a mistake."""
    if call.dependencies.clock.now() - begins_at < LONG_AGO:
        return []
    return [
        f"the window's start, {begins_at:%Y-%m-%d %H:%M} UTC, is in the past; the slots are reserved from now on"
    ]


def _render(view: ReservationView, tenant: str) -> Reservation:
    return Reservation(
        id=view.reservation_id,
        tenant=tenant,
        **view.model_dump(include={"pool", "workspace", "slots", "begins_at", "ends_at", "held_slots"}),
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateReservation", "POST", "/v1/reservations", CreateReservationRequest, Reservation, MANAGE, KEY, create_reservation, status=201, waits=True),
    Operation("ListReservations", "GET", "/v1/reservations", ListReservationsRequest, ReservationPage, CLUSTER, SAFE, list_reservations, waits=True),
    Operation("DeleteReservation", "DELETE", "/v1/reservations/{reservation}", ReservationRequest, Reservation, MANAGE, NATURAL, delete_reservation, waits=True),
)
# fmt: on

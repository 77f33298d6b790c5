"""Reservations: administrators reserve slots for a time window, and users list reservations."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from services.scheduler.core.reducers import requests
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.reservations import Reservation, most_booked
from services.scheduler.cycle import Cycle
from services.scheduler.store.reservations import delete_reservation, save_reservation
from shared.bus import Delivery, RequestContext, Unit
from shared.ids import SITE, TenantId
from shared.messages.base import Command
from shared.messages.experiments import OperationRefused
from shared.messages.reservations import (
    CancelReservation,
    GetReservations,
    ReservationList,
    ReservationView,
    ReserveSlots,
)


@dataclass(frozen=True, slots=True)
class ReservationCommands:
    """One method per message."""

    cycle: Cycle

    async def on_reserve(self, unit: Unit, batch: list[Delivery[ReserveSlots]]) -> None:
        for delivery in batch:
            command = delivery.message
            pool = self.cycle.cluster.pools.get(command.pool)
            if pool is None:
                unit.emit(
                    _refused(command, "pool_unknown", f"pool {command.pool} does not exist"), cause=delivery
                )
                continue
            wanted = _reservation_of(command)
            reason = _beyond(pool, wanted)
            if reason is not None:
                unit.emit(_refused(command, "reservation_too_large", reason), cause=delivery)
                continue
            await save_reservation(unit.connection, command)
            self._take_up(unit, wanted)

    async def on_cancel(self, unit: Unit, batch: list[Delivery[CancelReservation]]) -> None:
        for delivery in batch:
            name = delivery.message.reservation_id
            await delete_reservation(unit.connection, name)
            self._give_up(unit, name)

    async def reservations(self, ask: RequestContext, query: GetReservations) -> ReservationList:
        refresh(self.cycle.cluster)
        pools = self.cycle.cluster.pools.values()
        found = [(pool, one) for pool in pools for one in pool.reservations.values()]
        seen = [(pool, one) for pool, one in found if ask.tenant in (SITE, one.holder[0])]
        seen.sort(key=lambda entry: (entry[1].begin_ms, entry[1].id))
        now_ms = self.cycle.cluster.now_ms
        return ReservationList(items=tuple(_view(pool, one, now_ms) for pool, one in seen))

    def _take_up(self, unit: Unit, wanted: Reservation) -> None:
        async def take_up() -> None:
            self.cycle.edit(lambda cycle: cycle.cluster.apply(requests.on_reserved(cycle.cluster, wanted)))

        unit.after_commit(take_up)

    def _give_up(self, unit: Unit, name: UUID) -> None:
        async def give_up() -> None:
            self.cycle.edit(
                lambda cycle: cycle.cluster.apply(requests.on_reservation_cancelled(cycle.cluster, name))
            )

        unit.after_commit(give_up)


def _reservation_of(command: ReserveSlots) -> Reservation:
    return Reservation(
        id=command.reservation_id,
        pool=command.pool,
        holder=(command.tenant, command.workspace) if command.workspace else (command.tenant,),
        slots=command.slots,
        begin_ms=milliseconds(command.begins_at),
        end_ms=milliseconds(command.ends_at),
    )


def _beyond(pool: Pool, wanted: Reservation) -> str | None:
    """Return why the pool cannot reserve this many slots; None: it can, or its size is unknown."""
    most = max(pool.capacity.total, pool.policy.max_slots or 0)
    booked = most_booked([*pool.reservations.values(), wanted], wanted)
    if not most or booked <= most:
        return None
    others = booked - wanted.slots
    taken = f", of which {others} are already reserved in that time" if others else ""
    return f"pool {wanted.pool} cannot reserve {wanted.slots} slots: it has {most}{taken}"


def _view(pool: Pool, one: Reservation, now_ms: int) -> ReservationView:
    node = pool.shares.root.children.get(one.holder[0])
    if node is not None and len(one.holder) > 1:
        node = node.children.get(one.holder[1])
    held = min(one.slots, int(node.held)) if node is not None and one.is_running(now_ms) else 0
    return ReservationView(
        reservation_id=one.id,
        pool=one.pool,
        tenant=TenantId(one.holder[0]),  # type: ignore[arg-type]
        workspace=str(one.holder[1]) if len(one.holder) > 1 else None,
        slots=one.slots,
        begins_at=datetime.fromtimestamp(one.begin_ms / 1000, UTC),
        ends_at=datetime.fromtimestamp(one.end_ms / 1000, UTC),
        held_slots=held,
    )


def _refused(command: Command, code: str, message: str) -> OperationRefused:
    return OperationRefused(operation_id=command.operation_id, code=code, message=message)

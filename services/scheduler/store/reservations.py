"""Stored reservations: written by handlers, loaded by each new leader."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.store.tables import reservation
from shared.ids import PoolName, TenantId
from shared.messages.reservations import ReserveSlots


async def save_reservation(connection: AsyncConnection, wish: ReserveSlots) -> None:
    row = wish.model_dump(include={"pool", "tenant", "slots", "begins_at", "ends_at"})
    row |= {"reservation": wish.reservation_id, "workspace": wish.workspace or ""}
    await connection.execute(insert(reservation).values(row).on_conflict_do_nothing())


async def delete_reservation(connection: AsyncConnection, reservation_id: UUID) -> bool:
    """False: there is none."""
    drop = delete(reservation).where(reservation.c.reservation == reservation_id)
    return (await connection.execute(drop)).rowcount > 0


async def load_reservations(connection: AsyncConnection, now: datetime) -> list[Reservation]:
    """Load the reservations that are not over."""
    query = select(reservation).where(reservation.c.ends_at > now)
    query = query.order_by(reservation.c.begins_at, reservation.c.reservation)
    return [
        Reservation(
            id=row.reservation,
            pool=PoolName(row.pool),
            holder=(TenantId(row.tenant), row.workspace) if row.workspace else (TenantId(row.tenant),),
            slots=row.slots,
            begin_ms=milliseconds(row.begins_at),
            end_ms=milliseconds(row.ends_at),
        )
        for row in await connection.execute(query)
    ]

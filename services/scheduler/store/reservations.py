"""Bookings: written by handlers, read by each new leader."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.queue import milliseconds
from services.scheduler.core.reservations import Reservation
from shared.ids import PoolName, TenantId
from shared.messages.reservations import ReserveSlots

_SAVE = text(
    "INSERT INTO scheduler.reservation (reservation, pool, tenant, workspace, slots, begins_at, ends_at)"
    " VALUES (:reservation, :pool, :tenant, :workspace, :slots, :begins_at, :ends_at) ON CONFLICT DO NOTHING"
)
_DELETE = text("DELETE FROM scheduler.reservation WHERE reservation = :reservation RETURNING reservation")
_LOAD = text("SELECT * FROM scheduler.reservation WHERE ends_at > :now ORDER BY begins_at, reservation")


async def save_reservation(connection: AsyncConnection, wish: ReserveSlots) -> None:
    row = wish.model_dump(include={"pool", "tenant", "slots", "begins_at", "ends_at"})
    await connection.execute(
        _SAVE, row | {"reservation": wish.reservation_id, "workspace": wish.workspace or ""}
    )


async def delete_reservation(connection: AsyncConnection, reservation: UUID) -> bool:
    """False: there is none."""
    return (await connection.execute(_DELETE, {"reservation": reservation})).one_or_none() is not None


async def load_reservations(connection: AsyncConnection, now: datetime) -> list[Reservation]:
    """Those that are not over."""
    return [
        Reservation(
            id=row.reservation,
            pool=PoolName(row.pool),
            holder=(TenantId(row.tenant), row.workspace) if row.workspace else (TenantId(row.tenant),),
            slots=row.slots,
            begin_ms=milliseconds(row.begins_at),
            end_ms=milliseconds(row.ends_at),
        )
        for row in await connection.execute(_LOAD, {"now": now})
    ]

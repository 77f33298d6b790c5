"""Reservations: slots of a pool booked for a window of time, for one tenant or a workspace of it."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from shared.ids import PoolName, TenantId
from shared.messages.base import Command, Query, Record


class ReserveSlots(Command, owner="scheduler", verb="reserve_slots"):
    """gateway → scheduler, for the site: from `begins_at` on and before `ends_at` so many slots serve this holder alone."""

    reservation_id: UUID
    pool: PoolName
    tenant: TenantId
    workspace: str | None = None
    slots: int
    begins_at: datetime
    ends_at: datetime


class CancelReservation(Command, owner="scheduler", verb="cancel_reservation"):
    """gateway → scheduler, for the site: nothing is kept any more; what the holder runs goes on."""

    reservation_id: UUID


class ReservationView(Record):
    """`held_slots`: what the holder has of them now, while the window lasts."""

    reservation_id: UUID
    pool: PoolName
    tenant: TenantId
    workspace: str | None
    slots: int
    begins_at: datetime
    ends_at: datetime
    held_slots: int = 0


class ReservationList(BaseModel):
    items: tuple[ReservationView, ...]


class GetReservations(Query[ReservationList], owner="scheduler", name="reservations"):
    """Bookings that are not over, by begin. Asked for a tenant it tells of that tenant's alone, asked for the site of all."""

"""Reservations: slots of a pool for a time window, for one tenant or workspace."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from shared.ids import PoolName, TenantId
from shared.messages.base import Command, Query, Record


class ReserveSlots(Command, owner="scheduler", verb="reserve_slots"):
    """gateway → scheduler, for the site: reserve slots for this holder from `begins_at` (inclusive) to `ends_at` (exclusive)."""

    reservation_id: UUID
    pool: PoolName
    tenant: TenantId
    workspace: str | None = None
    slots: int
    begins_at: datetime
    ends_at: datetime


class CancelReservation(Command, owner="scheduler", verb="cancel_reservation"):
    """gateway → scheduler, for the site: cancel the reservation; the holder's runs continue."""

    reservation_id: UUID


class ReservationView(Record):
    """`held_slots`: slots of the reservation that the holder uses now, during the window."""

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
    """Return reservations that are not over, by start time: those of the asking tenant, or all if asked for the site."""

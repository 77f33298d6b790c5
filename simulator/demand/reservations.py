"""Reservations in a simulation, by the names of their holders."""

from typing import NamedTuple

from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.reservations import Reservation
from shared.ids import PoolName, derived_id
from simulator.demand.trial_requester import ROOT, tenant_id
from simulator.event_queue import BEGINNING


class ReservationItem(NamedTuple):
    """`holder`: (tenant,) or (tenant, workspace); times since the beginning."""

    holder: tuple[str, ...]
    slots: int
    begin_ms: int
    end_ms: int


def reservation_of(booking: ReservationItem, number: int, pool: PoolName) -> Reservation:
    """Return the reservation as the scheduler's tables store it."""
    tenant, *below = booking.holder
    begin_ms, end_ms = (milliseconds(BEGINNING) + at for at in (booking.begin_ms, booking.end_ms))
    name = derived_id(ROOT, "reservation", number)
    return Reservation(name, pool, (tenant_id(tenant), *below), booking.slots, begin_ms, end_ms)

"""Slots booked for a window of time: while it lasts they serve their holder alone. Before it nothing is held back: nobody knows how long
runs take. Neighbour: `kept`, which sees to it in a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from services.scheduler.core.state.records.pool import Path
from shared.ids import PoolName


@dataclass(frozen=True, slots=True)
class Reservation:
    """`holder`: a tenant, or a workspace of one. From `begin_ms` on and before `end_ms`."""

    id: UUID
    pool: PoolName
    holder: Path
    slots: int
    begin_ms: int
    end_ms: int

    def is_running(self, now_ms: int) -> bool:
        return self.begin_ms <= now_ms < self.end_ms


def most_booked(reservations: Sequence[Reservation], within: Reservation) -> int:
    """The most slots that are booked at one moment of this window; the same booking counts once."""
    during = {
        one.id: one for one in reservations if one.begin_ms < within.end_ms and within.begin_ms < one.end_ms
    }
    moments = [max(one.begin_ms, within.begin_ms) for one in during.values()]
    return max((sum(one.slots for one in during.values() if one.is_running(at)) for at in moments), default=0)

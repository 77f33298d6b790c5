"""Reservations of slots for a time window. During the window the slots serve only their holder. Nothing is held
back before, because run durations are unknown. `reserved_slots` enforces them in a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from services.scheduler.core.state.records.pool import Path
from shared.ids import PoolName


@dataclass(frozen=True, slots=True)
class Reservation:
    """`holder`: a tenant, or one of its workspaces. The window starts at `begin_ms` and ends before `end_ms`."""

    id: UUID
    pool: PoolName
    holder: Path
    slots: int
    begin_ms: int
    end_ms: int

    def is_running(self, now_ms: int) -> bool:
        return self.begin_ms <= now_ms < self.end_ms


def most_booked(reservations: Sequence[Reservation], within: Reservation) -> int:
    """Return the most slots reserved at one time within this window. A reservation with the same id counts once."""
    during = {
        one.id: one for one in reservations if one.begin_ms < within.end_ms and within.begin_ms < one.end_ms
    }
    moments = [max(one.begin_ms, within.begin_ms) for one in during.values()]
    return max((sum(one.slots for one in during.values() if one.is_running(at)) for at in moments), default=0)

"""How long a pool has lacked slots that no machine will bring yet, and how long the shortage has not grown.

Trials of a search arrive one after the other, and machines for all of them together cost less than one for each.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

_SETTLED = 4
"""A shortage that has not grown for 1/4 of the pool's batching window counts as complete."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Missing slots, since when any are missing, and when the number last grew."""

    slots: int = 0
    since: datetime | None = None
    grown_at: datetime | None = None

    def sampled(self, slots: int, now: datetime) -> "Shortage":
        """Return the shortage after a sample with so many missing slots."""
        if slots <= 0:
            return Shortage()
        has_grown = slots > self.slots or self.grown_at is None
        return Shortage(slots, self.since or now, now if has_grown else self.grown_at)

    def may_grow(self, batching_window: timedelta, now: datetime) -> bool:
        """Whether the shortage may still grow, so that covering it later is cheaper."""
        if self.since is None or self.grown_at is None:
            return False
        return now - self.since < batching_window and now - self.grown_at < batching_window / _SETTLED

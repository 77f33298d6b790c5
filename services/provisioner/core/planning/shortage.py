"""Since when a pool has lacked slots that nothing brings yet, and since when no more of them. Trials of a search come one after the other, and machines for
all of them cost less than one for each."""

from dataclasses import dataclass
from datetime import datetime, timedelta

_SETTLED = 4
"""What has not grown for a quarter of the patience is taken to be all."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Slots that are missing, `since` when any are, and when they last became more."""

    slots: int = 0
    since: datetime | None = None
    grown_at: datetime | None = None

    def sampled(self, slots: int, now: datetime) -> "Shortage":
        """As it is after a look that found so many missing."""
        if slots <= 0:
            return Shortage()
        has_grown = slots > self.slots or self.grown_at is None
        return Shortage(slots, self.since or now, now if has_grown else self.grown_at)

    def may_grow(self, patience: timedelta, now: datetime) -> bool:
        """Whether more may come that is better covered together with this."""
        if self.since is None or self.grown_at is None:
            return False
        return now - self.since < patience and now - self.grown_at < patience / _SETTLED

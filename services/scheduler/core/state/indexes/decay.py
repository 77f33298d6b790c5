"""Exponentially decayed slot usage, as exact integers in slot-milliseconds.

The average number of slots held, with half-life h, is (ln 2 / h) · ∫ held(t) · 2^((t - now) / h) dt. The
integral is kept in inflated units, held(t) · g(t) with g(t) = 2^(t / h), so that nothing must be updated while
nothing is held. g is constant within steps of 10 s, so that the sum over any partition of time is the same
integer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from math import log
from typing import Protocol

from services.scheduler.core.state.records.slots import SlotCount

STEP_MS = 10_000
ONE = 1 << 32
"""g at the origin."""
OLD = 64
"""Half-lives after which sums are moved to a new origin."""


class Decay:
    """The weight of a point in time.

    Args:
        origin_ms: Where g equals `ONE`; earlier usage is ignored.
    """

    def __init__(self, half_life: timedelta, origin_ms: int) -> None:
        self.half_life = half_life
        self._origin = origin_ms // STEP_MS
        self._period = max(1, half_life // timedelta(milliseconds=STEP_MS))
        self._parts = [int(2.0 ** (step / self._period) * ONE) for step in range(self._period)]
        self._before = [0]
        for part in self._parts:
            self._before.append(self._before[-1] + part)
        self._lifetime_ms = int(self._period * STEP_MS / log(2))

    def present(self, now_ms: int) -> int:
        """Return the weight of one slot held now, comparable to the sums: as much as one slot held for the
        entire past."""
        return self.at(now_ms) * self._lifetime_ms

    def at(self, now_ms: int) -> int:
        """Return the weight g of a point in time."""
        halvings, rest = divmod(now_ms // STEP_MS - self._origin, self._period)
        return self._parts[rest] << halvings

    def is_old(self, now_ms: int) -> bool:
        """Whether the origin is so far back that the sums have become large numbers."""
        return now_ms // STEP_MS - self._origin > OLD * self._period

    def until(self, ms: int) -> int:
        """Return the integral of g from the origin to a point in time."""
        step, rest_ms = divmod(ms - self._origin * STEP_MS, STEP_MS)
        halvings, rest = divmod(step, self._period)
        whole = self._before[-1] * ((1 << halvings) - 1) + (self._before[rest] << halvings)
        return whole * STEP_MS + (self._parts[rest] << halvings) * rest_ms


@dataclass(slots=True)
class DecayedUsage:
    """The decayed usage of one holder: `held` · G + `offset`, where G is the integral of g."""

    held: SlotCount = 0
    offset: SlotCount = 0

    def charge(self, slots: SlotCount, integral: int) -> None:
        self.held += slots
        self.offset -= slots * integral

    def at(self, integral: int) -> SlotCount:
        """Return the weighted sum of slots held."""
        return self.held * integral + self.offset


class Holder(Protocol):
    """A holder of slots. It caches its past usage, which is read far more often than it is created."""

    path: tuple[object, ...]
    past: DecayedUsage | None


@dataclass(slots=True)
class UsageHistory:
    """Past usage by path (tenant, workspace, user, experiment, and each prefix). It outlives the holders."""

    decay: Decay
    pasts: dict[tuple[object, ...], DecayedUsage] = field(default_factory=dict)
    _counted_ms: int = -1
    _integral: int = 0

    def charge(self, holders: Iterable[Holder], slots: SlotCount, now_ms: int) -> None:
        """Add `slots` to what these holders hold from now on; negative values release."""
        if now_ms != self._counted_ms:  # cached: many charges share one time
            self._counted_ms, self._integral = now_ms, self.decay.until(now_ms)
        integral = self._integral
        for holder in holders:
            past = holder.past
            if past is None:
                past = holder.past = self.pasts.setdefault(holder.path, DecayedUsage())
            past.charge(slots, integral)

    def past_of(self, holder: Holder) -> DecayedUsage | None:
        """Return the holder's past usage; None if it never used anything."""
        if holder.past is None:
            holder.past = self.pasts.get(holder.path)
        return holder.past

    def remember(self, path: tuple[object, ...], average: float, now_ms: int) -> None:
        """Add an average number of slots that the path has held, as read from stored records."""
        for length in range(1, len(path) + 1):
            self.pasts.setdefault(path[:length], DecayedUsage()).offset += int(
                average * self.decay.present(now_ms)
            )

    def at_rest(self, now_ms: int) -> "UsageHistory":
        """Return the same past without current usage, for a cluster that is rebuilt and charges what it holds."""
        integral = self.decay.until(now_ms)
        return UsageHistory(
            self.decay, {path: DecayedUsage(0, past.at(integral)) for path, past in self.pasts.items()}
        )

    def renewed(self, half_life: timedelta, now_ms: int) -> "UsageHistory":
        """Return the same averages with a new half-life and origin, and without current usage. Averages that
        have decayed to 0 are dropped."""
        then = UsageHistory(Decay(half_life, now_ms // STEP_MS * STEP_MS))
        for path, past in self.at_rest(now_ms).pasts.items():
            average = past.offset * then.decay.present(now_ms) // self.decay.present(now_ms)
            if average:
                then.pasts[path] = DecayedUsage(0, average)
        return then

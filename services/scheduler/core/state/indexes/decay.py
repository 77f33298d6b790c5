"""Past use that fades: sums of slot-milliseconds in which an older one counts less, as exact numbers.

The average of what was held, with half-life h, is (ln 2 / h) · ∫ held(t) · 2^((t - now) / h) dt. We keep the integral in
inflated units, held(t) · g(t) with g(t) = 2^(t / h), so that nothing needs touching while nothing is held; g stands still for
steps of 10 s, so that a sum over any cut of the time is the same integer.
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
"""Half-lives after which sums are expressed from a new origin."""


class Decay:
    """The weight of a moment.

    Args:
        origin_ms: where g is `ONE`; nothing before it is weighed.
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
        """What one slot held now weighs beside the sums: as much as one held for the whole past."""
        return self.at(now_ms) * self._lifetime_ms

    def at(self, now_ms: int) -> int:
        """The weight of this moment, g."""
        halvings, rest = divmod(now_ms // STEP_MS - self._origin, self._period)
        return self._parts[rest] << halvings

    def is_old(self, now_ms: int) -> bool:
        """Whether the origin lies so far back that sums have become long numbers."""
        return now_ms // STEP_MS - self._origin > OLD * self._period

    def until(self, ms: int) -> int:
        """The integral of g from the origin up to a moment."""
        step, rest_ms = divmod(ms - self._origin * STEP_MS, STEP_MS)
        halvings, rest = divmod(step, self._period)
        whole = self._before[-1] * ((1 << halvings) - 1) + (self._before[rest] << halvings)
        return whole * STEP_MS + (self._parts[rest] << halvings) * rest_ms


@dataclass(slots=True)
class DecayedUsage:
    """What one holder has used: `held` · G + `offset`, where G is the integral of g up to the moment that is asked for."""

    held: SlotCount = 0
    offset: SlotCount = 0

    def charge(self, slots: SlotCount, integral: int) -> None:
        self.held += slots
        self.offset -= slots * integral

    def at(self, integral: int) -> SlotCount:
        """The weighted sum of what was held."""
        return self.held * integral + self.offset


class Holder(Protocol):
    """Who holds slots; it keeps its past at hand, since that is asked for far more often than it is made."""

    path: tuple[object, ...]
    past: DecayedUsage | None


@dataclass(slots=True)
class UsageHistory:
    """Past use by path (tenant, workspace, user, experiment, and each beginning of it). It outlives the holders that it tells of."""

    decay: Decay
    pasts: dict[tuple[object, ...], DecayedUsage] = field(default_factory=dict)
    _counted_ms: int = -1
    _integral: int = 0

    def charge(self, holders: Iterable[Holder], slots: SlotCount, now_ms: int) -> None:
        """From now on these hold `slots` more (less, when negative)."""
        if now_ms != self._counted_ms:  # Many are charged at one moment.
            self._counted_ms, self._integral = now_ms, self.decay.until(now_ms)
        integral = self._integral
        for holder in holders:
            past = holder.past
            if past is None:
                past = holder.past = self.pasts.setdefault(holder.path, DecayedUsage())
            past.charge(slots, integral)

    def past_of(self, holder: Holder) -> DecayedUsage | None:
        """What it has used; None: never anything."""
        if holder.past is None:
            holder.past = self.pasts.get(holder.path)
        return holder.past

    def remember(self, path: tuple[object, ...], average: float, now_ms: int) -> None:
        """The path has held so many slots on average, as records tell that were kept elsewhere."""
        for length in range(1, len(path) + 1):
            self.pasts.setdefault(path[:length], DecayedUsage()).offset += int(
                average * self.decay.present(now_ms)
            )

    def at_rest(self, now_ms: int) -> "UsageHistory":
        """The same past, with nothing held: for a cluster that is built anew, and charges what it holds."""
        integral = self.decay.until(now_ms)
        return UsageHistory(
            self.decay, {path: DecayedUsage(0, past.at(integral)) for path, past in self.pasts.items()}
        )

    def renewed(self, half_life: timedelta, now_ms: int) -> "UsageHistory":
        """As at rest, with the averages kept and their origin now: for another half-life, or when the numbers have grown long.
        What has faded away is forgotten."""
        then = UsageHistory(Decay(half_life, now_ms // STEP_MS * STEP_MS))
        for path, past in self.at_rest(now_ms).pasts.items():
            average = past.offset * then.decay.present(now_ms) // self.decay.present(now_ms)
            if average:
                then.pasts[path] = DecayedUsage(0, average)
        return then

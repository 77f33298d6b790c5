"""A cloud with three kinds of machines in three zones, whose spot prices, shortages and interruptions are drawn from a seed, the same for every
policy that is played in it.

Prices of spot machines follow, in each zone and for each kind, an Ornstein-Uhlenbeck walk of the logarithm about 0.33 of the price on demand (a
mean reversion of 6 h, a standing deviation of 0.25), kept within 0.2 and 0.9. Each spot offer is short now and then: after 6 h on average,
for 40 min on average; nothing is sold then, and what runs is taken back within some minutes. Else a machine is taken every 12 h on
average. Machines on demand are short once in 48 h on average, for 20 min, and never taken.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp, log, sqrt
from random import Random

from services.provisioner.core.catalogue import MachineKind, Offer, Purchase
from services.provisioner.core.renting.pool_spec import PoolSpec
from simulator.provisioning.cloud import CloudBehavior

HOUR_MS = 3_600_000
STEP_MS = 5 * 60_000
"""Prices hold for so long."""
BOOT_S = 120.0
KINDS = tuple(
    (MachineKind(f"g.{slots}", "cloud", slots, "cuda", boot_s=BOOT_S), price)
    for slots, price in ((1, 1.0), (4, 3.9), (8, 7.6))
)
ZONES = ("a", "b", "c")
MIDDLE, LEAST, MOST, REVERTS_H, DEVIATION = 0.33, 0.2, 0.9, 6.0, 0.25
TAKEN_EVERY_H = 12.0
SPOT_SPELLS_H, FIRM_SPELLS_H = (6.0, 40 / 60), (48.0, 20 / 60)
"""Until an offer is short, and for how long it is."""
Key = tuple[str, str, Purchase]


@dataclass(frozen=True)
class Market(CloudBehavior):
    """Everything that happens in one cloud until `until_ms`."""

    seed: int = 0
    until_ms: int = 48 * HOUR_MS
    boot_ms: int = round(BOOT_S * 1000)
    courses: dict[Key, Sequence[float]] = field(default_factory=dict, compare=False)
    changes_ms: dict[Key, Sequence[int]] = field(default_factory=dict, compare=False)
    priced: dict[int, tuple[PoolSpec, PoolSpec]] = field(default_factory=dict, compare=False)
    """What was asked last, by the step of the prices: the definition, and the same with them."""

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """All, with the prices of the beginning."""
        return tuple(self._offers(0))

    def price(self, offer: Offer, now_ms: int) -> float:
        """Of a machine for an hour, as it is now."""
        course = self._course(_key(offer))
        return course[min(now_ms // STEP_MS, len(course) - 1)]

    def paid(self, offer: Offer, from_ms: int, until_ms: int) -> float:
        """What a machine costs between two moments, at the prices of each."""
        total, at = 0.0, from_ms
        while at < until_ms:
            step = min(until_ms, (at // STEP_MS + 1) * STEP_MS)
            total += self.price(offer, at) * (step - at) / HOUR_MS
            at = step
        return total

    def is_short(self, offer: Offer, now_ms: int) -> bool:
        """Whether nothing of it is sold now."""
        return bisect_right(self._changes_of(_key(offer)), now_ms) % 2 == 1

    def short_at(self, offer: Offer, now_ms: int) -> int | None:
        """When it will be short next, from a moment at which it is not."""
        changes_ms = self._changes_of(_key(offer))
        at = bisect_right(changes_ms, now_ms)
        return changes_ms[at] if at < len(changes_ms) and at % 2 == 0 else None

    def opens_within(self, offer: Offer, now_ms: int, span_ms: int) -> bool:
        """Whether a shortage of now is over so soon."""
        changes_ms = self._changes_of(_key(offer))
        at = bisect_right(changes_ms, now_ms)
        return at % 2 == 1 and at < len(changes_ms) and changes_ms[at] < now_ms + span_ms

    def prices(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        step = now_ms // STEP_MS
        if step not in self.priced or self.priced[step][0] is not spec:
            self.priced.clear()
            self.priced[step] = spec, self._priced(spec, now_ms)
        return self.priced[step][1]

    def _priced(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        offers = tuple(
            replace(one, price_per_hour=self.price(one, now_ms), interruptions_per_hour=1 / TAKEN_EVERY_H)
            if one.purchase == "spot"
            else one
            for one in spec.offers
        )
        return replace(spec, offers=offers)

    def has(self, offer: Offer, machines: int, now_ms: int) -> int:
        return 0 if self.is_short(offer, now_ms) else machines

    def life_ms(self, offer: Offer, now_ms: int, chance: Random) -> int | None:
        if offer.purchase == "on_demand":
            return None
        taken_ms = now_ms + round(chance.expovariate(1 / (TAKEN_EVERY_H * HOUR_MS)))
        short_ms = now_ms if self.is_short(offer, now_ms) else self.short_at(offer, now_ms)
        if short_ms is not None:
            taken_ms = min(taken_ms, short_ms + round(chance.uniform(0, 5 * 60_000)))
        return max(0, taken_ms - now_ms)

    def _offers(self, now_ms: int) -> Iterator[Offer]:
        for kind, price in KINDS:
            for zone in ZONES:
                yield Offer(kind, zone, "on_demand", price)
                spot = Offer(kind, zone, "spot", price)
                yield replace(
                    spot, price_per_hour=self.price(spot, now_ms), interruptions_per_hour=1 / TAKEN_EVERY_H
                )

    def _course(self, key: Key) -> Sequence[float]:
        if key not in self.courses:
            self.courses[key] = list(self._draw_prices(key))
        return self.courses[key]

    def _draw_prices(self, key: Key) -> Iterator[float]:
        name, _, purchase = key
        on_demand = next(price for kind, price in KINDS if kind.name == name)
        chance = Random(f"{self.seed}/{key}/price")
        step_h = STEP_MS / HOUR_MS
        keeps = exp(-step_h / REVERTS_H)
        away = chance.gauss(0, DEVIATION)
        for _ in range(self.until_ms // STEP_MS + 1):
            share = min(MOST, max(LEAST, exp(log(MIDDLE) + away)))
            yield on_demand * share if purchase == "spot" else on_demand
            away = away * keeps + chance.gauss(0, DEVIATION * sqrt(1 - keeps**2))

    def _changes_of(self, key: Key) -> Sequence[int]:
        """The moments at which it becomes short and is so no more, by turns."""
        if key not in self.changes_ms:
            chance = Random(f"{self.seed}/{key}/shortage")
            spells_h = SPOT_SPELLS_H if key[2] == "spot" else FIRM_SPELLS_H
            changes_ms: list[int] = []
            at = 0.0
            while at < self.until_ms:
                at += chance.expovariate(1 / (spells_h[len(changes_ms) % 2] * HOUR_MS))
                changes_ms.append(round(at))
            self.changes_ms[key] = changes_ms
        return self.changes_ms[key]


def _key(offer: Offer) -> Key:
    return offer.kind.name, offer.zone or "", offer.purchase

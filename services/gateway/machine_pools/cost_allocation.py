"""Split the cost of rented machines by slot usage, so that the shares add up to the ledger. Pure.

A slot-hour of a pool costs the same for everybody on one day: the cost of the pool's machines divided by their provisioned slot-hours. Each allocation is
charged its slot-hours; slot-hours without an allocation, from the launch of a machine to its end, are idle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from shared.ids import PoolName
from shared.messages.machine_pools import Spending
from shared.messages.usage import SlotUsageRow, UsageKey

DayAndPool = tuple[date | None, PoolName | None]
_S_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class RentedSlots:
    """Slot-seconds and cost of a pool on one day. Provisioner (`provisioned_s`) and scheduler (`allocated_s`) measure independently; the larger value is the total."""

    provisioned_s: float = 0.0
    allocated_s: float = 0.0
    cost: float = 0.0

    def share(self, slot_seconds: float) -> float:
        """Return the cost of this many slot-seconds."""
        return (
            self.cost * slot_seconds / max(self.provisioned_s, self.allocated_s) if slot_seconds > 0 else 0.0
        )

    @property
    def idle_s(self) -> float:
        return max(0.0, self.provisioned_s - self.allocated_s)


def rented_of(spent: Iterable[Spending], held: Iterable[SlotUsageRow]) -> dict[DayAndPool, RentedSlots]:
    """Combine spending and slot usage by day and pool, in that order. `held`: usage of all tenants; usage of pools without rented machines is ignored."""
    allocated_s = {(one.day, one.pool): one.slot_seconds for one in held}
    found: dict[DayAndPool, RentedSlots] = {}
    for row in spent:
        place = (row.day, row.pool)
        before = found.get(place, RentedSlots())
        provisioned_s = before.provisioned_s + row.slot_hours * _S_PER_HOUR
        found[place] = RentedSlots(provisioned_s, allocated_s.get(place, 0.0), before.cost + row.cost)
    return found


def with_shares(rented: Mapping[DayAndPool, RentedSlots], used: Iterable[SlotUsageRow]) -> list[SlotUsageRow]:
    """Return the usage of rented machines with its share of the cost. `used`: by day, pool and further keys."""
    return [
        one.model_copy(update={"cost": place.share(one.slot_seconds)})
        for one in used
        if (place := rented.get((one.day, one.pool))) is not None
    ]


def idle_usage(rented: Mapping[DayAndPool, RentedSlots]) -> list[SlotUsageRow]:
    """Return the idle slot-seconds and their cost, by day and pool."""
    return [
        SlotUsageRow(day=day, pool=pool, slot_seconds=one.idle_s, cost=one.share(one.idle_s))
        for (day, pool), one in rented.items()
        if one.idle_s > 0
    ]


def sum_by(parts: Iterable[SlotUsageRow], by: Sequence[UsageKey]) -> list[SlotUsageRow]:
    """Sum usage and cost by these keys, sorted by them."""
    sums: dict[tuple[object, ...], SlotUsageRow] = {}
    for one in parts:
        known = {key: getattr(one, key) for key in by}
        key = tuple(known.values())
        before = sums.get(key, SlotUsageRow(slot_seconds=0.0))
        slot_seconds, cost = before.slot_seconds + one.slot_seconds, before.cost + one.cost
        sums[key] = SlotUsageRow.model_validate({**known, "slot_seconds": slot_seconds, "cost": cost})
    return [sums[key] for key in sorted(sums, key=lambda key: tuple(map(str, key)))]

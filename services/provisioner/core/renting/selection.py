"""Select the cheapest machines that cover a need within bounds. `sizing` determines the need."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.renting.pool_spec import Order

TYPICAL_USE = timedelta(hours=1)
"""Assumed time of use of a machine, over which its boot time is spread."""
_WIDEST = 4096


@dataclass(frozen=True, slots=True)
class Need:
    """Number of slots; if `largest` is above 0, one machine must have at least that many. `order` ranks offers."""

    slots: int
    largest: int = 0
    order: Order = "cheapest"


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity that may be added: machines, slots, and money per hour."""

    machines: int
    slots: float = inf
    price_per_hour: float = inf

    def minus(self, machines: Sequence[Offer]) -> "Capacity":
        """Return the capacity left after these machines."""
        return Capacity(
            self.machines - len(machines),
            self.slots - sum(one.kind.slots for one in machines),
            self.price_per_hour - sum(one.price_per_hour or 0.0 for one in machines),
        )

    def fits(self, offer: Offer) -> bool:
        price = offer.price_per_hour or 0.0
        return self.machines > 0 and offer.kind.slots <= self.slots and price <= self.price_per_hour + 1e-9


def choose_machines(need: Need, offers: Sequence[Offer], room: Capacity) -> list[Offer]:
    """Return the cheapest machines for a need, the one for its largest part first.

    They are fewer than needed if the capacity is too small. `cheapest`: the least total price that covers the slots,
    including boot time, so that a machine of eight slots is not rented for a need of one while smaller ones are
    available; then the fewest machines, then the order of offers. `given`: the first offer that fits.
    """
    fitting = [offer for offer in offers if room.fits(offer)]
    if need.slots <= 0 or not fitting:
        return []
    large = [offer for offer in fitting if offer.kind.slots >= need.largest]
    if need.largest == 0 or not large:
        return _within(_cover(int(min(need.slots, room.slots)), fitting, need.order, room.machines), room)
    found = []
    for first in _by_size(large) if need.order == "cheapest" else large[:1]:
        left = room.minus([first])
        rest = choose_machines(Need(need.slots - first.kind.slots, 0, need.order), fitting, left)
        found.append([first, *rest])
    # Among those that cover the most, the cheapest.
    return min(found, key=lambda machines: (-min(need.slots, _slots(machines)), *_cost(machines)))


def cheapest(offers: Sequence[Offer], order: Order) -> Offer | None:
    """Return the cheapest single machine of any size."""
    if not offers or order == "given":
        return next(iter(offers), None)
    return min(offers, key=_hour)


def cheapest_per_slot(offers: Sequence[Offer], order: Order) -> Offer | None:
    """Return the offer with the lowest price per slot if fully used; of equal ones the largest."""
    if not offers or order == "given":
        return next(iter(offers), None)
    return min(offers, key=lambda offer: (_hour(offer) / offer.kind.slots, -offer.kind.slots))


def _cover(slots: int, offers: Sequence[Offer], order: Order, most: int) -> list[Offer]:
    """Cover the slots with at most so many machines, or as many slots as possible."""
    if order == "given":
        return [offers[0]] * min(most, -(-slots // offers[0].kind.slots))
    # The smallest machines may be cheapest but too many: drop small sizes until the machines fit.
    by_size = _by_size(offers)
    for at in range(len(by_size)):
        machines = _cheapest_cover(slots, by_size[at:])
        if len(machines) <= most:
            return machines
    return [by_size[-1]] * most


def _by_size(offers: Sequence[Offer]) -> list[Offer]:
    """Return the cheapest offer of each size, the smallest first."""
    sizes: dict[int, Offer] = {}
    for offer in offers:
        best = sizes.get(offer.kind.slots)
        if best is None or _hour(offer) < _hour(best):
            sizes[offer.kind.slots] = offer
    return sorted(sizes.values(), key=lambda offer: offer.kind.slots)


def _cheapest_cover(slots: int, sizes: Sequence[Offer]) -> list[Offer]:
    """Solve the unbounded covering knapsack by dynamic programming over slots.

    Far beyond the square of the largest size, the solution always contains the machine with the lowest price per
    slot, so that part is computed first.
    """
    best = cheapest_per_slot(sizes, "cheapest")
    assert best is not None
    largest = max(offer.kind.slots for offer in sizes)
    table = min(largest * largest, _WIDEST) + largest
    bulk = max(0, slots - table) // best.kind.slots
    left = slots - bulk * best.kind.slots
    costs: list[tuple[float, int]] = [(0.0, 0)]
    taken: list[Offer] = []
    for count in range(1, left + 1):
        options = [
            (
                round(costs[max(0, count - offer.kind.slots)][0] + _hour(offer), 9),
                costs[max(0, count - offer.kind.slots)][1] + 1,
            )
            for offer in sizes
        ]
        at = min(range(len(sizes)), key=options.__getitem__)
        costs.append(options[at])
        taken.append(sizes[at])
    chosen = [best] * bulk
    while left > 0:
        chosen.append(taken[left - 1])
        left -= taken[left - 1].kind.slots
    counts = Counter(chosen)
    return [
        offer for offer in sorted(counts, key=lambda offer: -offer.kind.slots) for _ in range(counts[offer])
    ]


def _within(machines: Sequence[Offer], room: Capacity) -> list[Offer]:
    """Return the machines that fit, in order."""
    kept: list[Offer] = []
    for one in machines:
        if room.fits(one):
            kept.append(one)
            room = room.minus([one])
    return kept


def _hour(offer: Offer) -> float:
    return offer.effective_hourly_cost(TYPICAL_USE)


def _slots(machines: Sequence[Offer]) -> int:
    return sum(one.kind.slots for one in machines)


def _cost(machines: Sequence[Offer]) -> tuple[float, int]:
    return round(sum(_hour(one) for one in machines), 9), len(machines)

"""Single-node requests: which of them fit on free slots, and which machines hold the rest."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

from services.provisioner.core.catalogue import Offer
from services.provisioner.core.renting.pool_spec import Order
from services.provisioner.core.renting.selection import Capacity, Need, cheapest_per_slot, choose_machines


@dataclass(frozen=True, slots=True)
class MissingSlots:
    """Slots that no machine will bring yet: `single_node` must each be on one machine (largest first), `anywhere` ones may be anywhere."""

    single_node: tuple[int, ...] = ()
    anywhere: int = 0

    @property
    def slots(self) -> int:
        return sum(self.single_node) + self.anywhere

    def after(self, machines: Iterable[int]) -> "MissingSlots":
        """Return what is missing after machines with these slots have come."""
        free, left = list(machines), []
        for size in self.single_node:
            fitting = [at for at, slots in enumerate(free) if slots >= size]
            if fitting:
                free[min(fitting, key=free.__getitem__)] -= size
            else:
                left.append(size)
        return MissingSlots(tuple(left), max(0, self.anywhere - sum(free)))

    def first(self, slots: int) -> "MissingSlots":
        """Return a part of so many slots, or slightly more, because requests are not split."""
        taken: list[int] = []
        for size in self.single_node:
            if sum(taken) < slots:
                taken.append(size)
        return MissingSlots(tuple(taken), min(self.anywhere, max(0, slots - sum(taken))))


def missing_slots(slots: int, sizes: Sequence[tuple[int, int]], most: int) -> MissingSlots:
    """Return so many slots, of which (size, count) must each be on one machine. Sizes above `most` fit nowhere and are dropped."""
    single_node: list[int] = []
    for size, count in sorted(sizes, reverse=True):
        if size > most:
            slots -= size * count
        elif size > 1:
            single_node += [size] * min(count, -(-max(0, slots - sum(single_node)) // size))
    return MissingSlots(tuple(single_node), max(0, slots - sum(single_node)))


def full_machines_of(missing: MissingSlots, offers: Sequence[Offer], order: Order) -> MissingSlots:
    """Return the part that completely fills machines with the lowest price per slot; no later demand makes them wrong."""
    counts = Counter(missing.single_node)
    single_node = [
        size for size, count in counts.items() for _ in range(_filling(size, count, offers, order))
    ]
    return MissingSlots(tuple(single_node), _filling(1, missing.anywhere, offers, order))


def cover(missing: MissingSlots, offers: Sequence[Offer], room: Capacity, order: Order) -> list[Offer]:
    """Return the cheapest machines for each size, the largest first; smaller requests fill the slots left free."""
    chosen: list[Offer] = []
    left = missing
    for size in sorted({*missing.single_node}, reverse=True):
        count = Counter(left.single_node)[size]
        chosen += _of_size(size, count, offers, room.minus(chosen), order)
        left = missing.after(offer.kind.slots for offer in chosen)
    return chosen + choose_machines(Need(left.anywhere, 0, order), offers, room.minus(chosen))


def _filling(size: int, count: int, offers: Sequence[Offer], order: Order) -> int:
    held = _held(size, offers)
    best = cheapest_per_slot(list(held), order)
    return 0 if best is None else count - count % best.kind.slots


def _of_size(size: int, count: int, offers: Sequence[Offer], room: Capacity, order: Order) -> list[Offer]:
    held = _held(size, offers)
    most = inf if room.slots == inf else room.slots // size
    chosen = choose_machines(
        Need(count, 0, order), list(held), Capacity(room.machines, most, room.price_per_hour)
    )
    return [held[one] for one in chosen]


def _held(size: int, offers: Sequence[Offer]) -> dict[Offer, Offer]:
    """Return offers whose slots count how many pieces of that size they hold."""
    return {
        replace(offer, kind=replace(offer.kind, slots=offer.kind.slots // size)): offer
        for offer in offers
        if offer.kind.slots >= size
    }

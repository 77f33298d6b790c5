"""Free slots of one pool's open workers, indexed by how many are free; gangs are placed on it.

Tentative changes are undone exactly, so that a plan reads the world and leaves it as it was.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from shared.ids import TenantId, WorkerId
from shared.messages.specs import SlotKind

Placement = tuple[tuple[WorkerId, int], ...]
"""Workers and slots; the chief first."""


class Spot(NamedTuple):
    """What a worker can still take. `owner` matters in an exclusive pool only; `holds` counts allocations there.

    A tuple, because plans make and compare tens of thousands of them.
    """

    kind: SlotKind | None
    total: int
    free: int
    auxiliary: int
    owner: TenantId | None = None
    holds: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be placed: the shape of a request without its size."""

    tenant: TenantId
    kind: SlotKind | None
    single_node: bool


_Class = tuple[SlotKind | None, TenantId | None]


class Capacity:
    """The index. `free` and `total` are sums over the open workers."""

    def __init__(self, exclusive: bool) -> None:
        self.exclusive = exclusive
        self.free = 0
        self.total = 0
        self._spots: dict[WorkerId, Spot] = {}
        self._buckets: dict[_Class, dict[int, list[WorkerId]]] = {}
        self._free: dict[_Class, int] = {}
        self._used: dict[int, list[WorkerId]] = {}
        self._sizes: dict[SlotKind | None, dict[int, int]] = {}
        self._undo: list[dict[WorkerId, Spot | None]] = []

    def __len__(self) -> int:
        return len(self._spots)

    def __contains__(self, worker: WorkerId) -> bool:
        return worker in self._spots

    def get(self, worker: WorkerId) -> Spot | None:
        return self._spots.get(worker)

    def spots(self) -> Iterator[tuple[WorkerId, Spot]]:
        """All open workers, in no particular order."""
        return iter(self._spots.items())

    def usable_by(self, ask: Ask) -> list[tuple[WorkerId, Spot]]:
        """Open workers of the kind that serve this tenant or nobody, in no particular order."""
        found = (ids for key in self._classes(ask) for ids in self._buckets[key].values())
        return [(worker, self._spots[worker]) for ids in found for worker in ids]

    def least_used(self, ask: Ask) -> Iterator[tuple[WorkerId, Spot]]:
        """Open workers of the kind, those with the fewest used slots first, then by id."""
        for used in sorted(self._used):
            for worker in self._used[used]:
                spot = self._spots[worker]
                if ask.kind in (None, spot.kind):
                    yield worker, spot

    def owned_free(self, tenant: TenantId) -> int:
        """Slots free on machines that serve this tenant alone."""
        return sum(self._free.get((kind, tenant), 0) for kind in self._sizes)

    def set(self, worker: WorkerId, spot: Spot | None) -> None:
        """Replaces what is known of a worker; None takes it out."""
        before = self._spots.get(worker)
        if before == spot:
            return
        if self._undo:
            self._undo[-1].setdefault(worker, before)
        if before is not None:
            self._leave(worker, before)
        if spot is not None:
            self._enter(worker, spot)

    def take(self, placement: Placement, tenant: TenantId) -> None:
        """Occupies slots for one allocation of `tenant`."""
        for worker, slots in placement:
            spot = self._spots[worker]
            owner = tenant if self.exclusive else None
            auxiliary = spot.auxiliary - (slots == 0)
            taken = Spot(spot.kind, spot.total, spot.free - slots, auxiliary, owner, spot.holds + 1)
            self.set(worker, taken)

    def withhold(self, placement: Placement) -> None:
        """Hides free slots: whose worker it is does not change."""
        for worker, slots in placement:
            spot = self._spots[worker]
            self.set(worker, spot._replace(free=spot.free - slots))

    def restore(self, placement: Placement) -> None:
        """Shows again what was withheld."""
        self.withhold(tuple((worker, -slots) for worker, slots in placement))

    def give(self, placement: Placement) -> None:
        """Frees the slots of one allocation; workers that are not open stay out."""
        for worker, slots in placement:
            self.loosen(worker, slots, holds=1, auxiliary=int(slots == 0))

    def loosen(self, worker: WorkerId, slots: int, holds: int, auxiliary: int = 0) -> None:
        """Frees slots of several allocations on one worker; without any left it has no owner."""
        spot = self._spots.get(worker)
        if spot is None:
            return
        left = max(0, spot.holds - holds)
        free = min(spot.total, spot.free + slots)
        owner = spot.owner if left else None
        self.set(worker, Spot(spot.kind, spot.total, free, spot.auxiliary + auxiliary, owner, left))

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Undoes at the end whatever was changed inside; nests."""
        self._undo.append({})
        try:
            yield
        finally:
            before = self._undo.pop()
            levels, self._undo = self._undo, []
            for worker, spot in before.items():
                self.set(worker, spot)
            self._undo = levels

    def place(self, ask: Ask, slots: int) -> Placement | None:
        """All `slots` or None: the best-fitting single worker, else as few workers as possible, largest first.

        Ties go to a worker that the tenant already uses, then to the lower id.
        """
        if slots == 0:
            return self._place_auxiliary(ask)
        if slots > self.free:
            return None
        single = self._best_fit(ask, slots)
        if single is not None:
            return ((single, slots),)
        if ask.single_node or not self.exclusive:
            return None
        return self._place_gang(ask, slots)

    def total_for(self, ask: Ask) -> tuple[int, int]:
        """What would fit if nothing ran: all slots of the kind, and the most on one worker."""
        kinds = self._sizes if ask.kind is None else (ask.kind,)
        sizes = [size for kind in kinds for size in self._sizes.get(kind, {}).items()]
        return sum(size * count for size, count in sizes), max((size for size, _ in sizes), default=0)

    def free_for(self, ask: Ask) -> int:
        """Slots free for this tenant and kind now, wherever they are."""
        return sum(self._free[key] for key in self._classes(ask))

    def largest_for(self, ask: Ask) -> int:
        """The most slots free for this tenant and kind on one worker."""
        return max((free for key in self._classes(ask) for free in self._buckets[key]), default=0)

    def _best_fit(self, ask: Ask, slots: int) -> WorkerId | None:
        best: tuple[int, bool, WorkerId] | None = None
        for key in self._classes(ask):
            bucket = self._buckets[key]
            free = min((free for free in bucket if free >= slots), default=None)
            if free is not None:
                found = (free, key[1] is None, bucket[free][0])
                best = min(best, found) if best else found
        return best[2] if best else None

    def _place_gang(self, ask: Ask, slots: int) -> Placement | None:
        classes = sorted(self._classes(ask), key=lambda key: key[1] is None)
        sizes = sorted({free for key in classes for free in self._buckets[key] if free}, reverse=True)
        chosen: list[tuple[WorkerId, int]] = []
        missing = slots
        for free in sizes:
            for worker in (one for key in classes for one in self._buckets[key].get(free, ())):
                if missing <= free:
                    # The rest fits on one: the smallest that will do. Smaller ones are all untouched yet.
                    fitting = min(size for size in sizes if size >= missing)
                    last = worker
                    if fitting < free:
                        last = next(ids[0] for key in classes if (ids := self._buckets[key].get(fitting)))
                    return (*chosen, (last, missing))
                chosen.append((worker, free))
                missing -= free
        return None

    def _place_auxiliary(self, ask: Ask) -> Placement | None:
        candidates = (
            worker
            for key in self._classes(ask)
            for ids in self._buckets[key].values()
            for worker in ids
            if self._spots[worker].auxiliary > 0
        )
        chosen = min(candidates, key=lambda worker: (-self._spots[worker].auxiliary, worker), default=None)
        return None if chosen is None else ((chosen, 0),)

    def _classes(self, ask: Ask) -> list[_Class]:
        kinds = self._sizes if ask.kind is None else (ask.kind,)
        owners = (ask.tenant, None) if self.exclusive else (None,)
        return [(kind, owner) for kind in kinds for owner in owners if (kind, owner) in self._buckets]

    def _enter(self, worker: WorkerId, spot: Spot) -> None:
        self._spots[worker] = spot
        self.free += spot.free
        self.total += spot.total
        sizes = self._sizes.setdefault(spot.kind, {})
        sizes[spot.total] = sizes.get(spot.total, 0) + 1
        key = (spot.kind, spot.owner)
        self._free[key] = self._free.get(key, 0) + spot.free
        _insert(self._buckets.setdefault(key, {}).setdefault(spot.free, []), worker)
        _insert(self._used.setdefault(spot.total - spot.free, []), worker)

    def _leave(self, worker: WorkerId, spot: Spot) -> None:
        del self._spots[worker]
        self.free -= spot.free
        self.total -= spot.total
        sizes = self._sizes[spot.kind]
        sizes[spot.total] -= 1
        if not sizes[spot.total]:
            del sizes[spot.total]
            if not sizes:
                del self._sizes[spot.kind]
        used = self._used[spot.total - spot.free]
        del used[bisect_left(used, worker)]
        if not used:
            del self._used[spot.total - spot.free]
        key = (spot.kind, spot.owner)
        self._free[key] -= spot.free
        bucket = self._buckets[key]
        ids = bucket[spot.free]
        del ids[bisect_left(ids, worker)]
        if not ids:
            del bucket[spot.free]
            if not bucket:
                del self._buckets[key], self._free[key]


def _insert(ids: list[WorkerId], worker: WorkerId) -> None:
    if not ids or worker > ids[-1]:
        ids.append(worker)
    else:
        insort(ids, worker)

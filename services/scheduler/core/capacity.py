"""Free slots of one pool's open workers, indexed by how many are free; gangs are placed on it. Neighbours: `parts` knows what is left
of slots that are shared, `auxiliary` where runs without slots go.

Tentative changes are undone exactly, so that a plan reads the world and leaves it as it was.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from services.scheduler.core.auxiliary import Auxiliary
from services.scheduler.core.parts import Sharing, joined, opened
from services.scheduler.core.run import Share
from services.scheduler.core.spot import Spot, without
from shared.ids import TenantId, WorkerId
from shared.messages.specs import SlotKind, Thousandths

Placement = tuple[tuple[WorkerId, int], ...]
"""Workers, and how many of their free slots are taken; the chief first. A part of a slot that is shared already takes none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be placed: the shape of a request without its size. `part`: so much of one slot."""

    tenant: TenantId
    kind: SlotKind | None
    single_node: bool
    part: Thousandths = 0


_Class = tuple[SlotKind | None, TenantId | None]


class Capacity:
    """The index. `free` and `total` are sums over the open workers."""

    def __init__(self, exclusive: bool) -> None:
        self.exclusive = exclusive
        self.free = 0
        self.total = 0
        self.sharing = Sharing()
        self._auxiliary = Auxiliary()
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
        if before is not None and spot is not None and _is_alike(before, spot):
            self._shift(worker, before, spot)
        else:
            if before is not None:
                self._leave(worker, before)
            if spot is not None:
                self._enter(worker, spot)
        self._share(worker, before, spot)

    def take(self, placement: Placement, ask: Ask) -> None:
        """Occupies slots, or a part of one, for one allocation."""
        owner = ask.tenant if self.exclusive else None
        for worker, slots in placement:
            spot = self._spots[worker]
            auxiliary, rooms = spot.auxiliary, spot.rooms
            if ask.part:
                rooms = (opened if slots else joined)(rooms, ask.tenant, ask.part)
            elif slots == 0:
                auxiliary -= 1
            free, holds = spot.free - slots, spot.holds + 1
            self.set(worker, Spot(spot.kind, spot.total, free, auxiliary, owner, holds, rooms, spot.withheld))

    def withhold(self, placement: Placement) -> None:
        """Hides free slots, and what is left of shared ones: whose worker it is does not change."""
        for worker, slots in placement:
            spot = self._spots[worker]
            self.set(worker, spot._replace(free=spot.free - slots, withheld=spot.withheld + 1))

    def restore(self, placement: Placement) -> None:
        """Shows again what was withheld."""
        for worker, slots in placement:
            spot = self._spots[worker]
            self.set(worker, spot._replace(free=spot.free + slots, withheld=spot.withheld - 1))

    def give(self, shares: Iterable[Share]) -> None:
        """Frees what a run has; workers that are not open stay out."""
        for share in shares:
            spot = self._spots.get(share.worker)
            if spot is not None:
                self.set(share.worker, without(spot, share.slot_ids, share.part))

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

        Ties go to a worker that the tenant already uses, then to the lower id. A part joins a slot that is shared where one has room.
        """
        if ask.part:
            return self._place_part(ask)
        if slots == 0:
            chosen = self._auxiliary.emptiest(self._classes(ask))
            return None if chosen is None else ((chosen, 0),)
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

    def _place_part(self, ask: Ask) -> Placement | None:
        shared = self.sharing.tightest(ask.tenant, ask.kind, ask.part)
        if shared is not None:
            return ((shared, 0),)
        fresh = self._best_fit(ask, 1)
        return None if fresh is None else ((fresh, 1),)

    def _classes(self, ask: Ask) -> list[_Class]:
        kinds = self._sizes if ask.kind is None else (ask.kind,)
        owners = (ask.tenant, None) if self.exclusive else (None,)
        return [(kind, owner) for kind in kinds for owner in owners if (kind, owner) in self._buckets]

    def _shift(self, worker: WorkerId, before: Spot, spot: Spot) -> None:
        """More or less is free on a worker that is otherwise as it was: what plans change most."""
        self._spots[worker] = spot
        if before.free == spot.free:
            return
        more, key = spot.free - before.free, (spot.kind, spot.owner)
        self.free += more
        self._free[key] += more
        _move(self._buckets[key], worker, before.free, spot.free)
        _move(self._used, worker, spot.total - before.free, spot.total - spot.free)

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

    def _share(self, worker: WorkerId, before: Spot | None, spot: Spot | None) -> None:
        """Keeps the neighbours true, where something has changed that they look at: on few workers in most plans."""
        if before is not None and before.rooms and not before.withheld:
            self.sharing.leave(worker, before.kind, before.rooms)
        if spot is not None and spot.rooms and not spot.withheld:
            self.sharing.enter(worker, spot.kind, spot.rooms)
        if (
            before
            and spot
            and before.auxiliary == spot.auxiliary
            and (before.owner, before.kind) == (spot.owner, spot.kind)
        ):
            return
        if before is not None:
            self._auxiliary.leave(worker, (before.kind, before.owner), before.auxiliary)
        if spot is not None:
            self._auxiliary.enter(worker, (spot.kind, spot.owner), spot.auxiliary)


def _is_alike(one: Spot, other: Spot) -> bool:
    return (one.total, one.kind) == (other.total, other.kind) and (
        one.owner is other.owner or one.owner == other.owner
    )


def _move(lists: dict[int, list[WorkerId]], worker: WorkerId, before: int, after: int) -> None:
    ids = lists[before]
    del ids[bisect_left(ids, worker)]
    if not ids:
        del lists[before]
    _insert(lists.setdefault(after, []), worker)


def _insert(ids: list[WorkerId], worker: WorkerId) -> None:
    if not ids or worker > ids[-1]:
        ids.append(worker)
    else:
        insort(ids, worker)

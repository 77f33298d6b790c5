"""Buckets of machines by kind and owner, then by number of free slots. `placement_index` has one for all its machines
and one for each domain.

`owners`: whose machines may be taken, in order of preference.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from shared.ids import TenantId, WorkerId
from shared.messages.trial_specs import SlotKind

Owners = tuple[TenantId | None, ...]
Class = tuple[SlotKind | None, TenantId | None]


class _Bucket:
    """Machines of one kind and owner: `free` slots in total, and machines by free slots."""

    __slots__ = ("by_free", "free")

    def __init__(self) -> None:
        self.free = 0
        self.by_free: dict[int, list[WorkerId]] = {}


class FreeSlotBuckets:
    """The index. `free` and `total` are sums over its machines."""

    __slots__ = ("_buckets", "_sizes", "free", "total")

    def __init__(self) -> None:
        self.free = 0
        self.total = 0
        self._buckets: dict[Class, _Bucket] = {}
        self._sizes: dict[SlotKind | None, dict[int, int]] = {}

    def __bool__(self) -> bool:
        """Whether it contains any machine."""
        return bool(self._buckets)

    def enter(self, worker: WorkerId, spot: WorkerCapacity) -> None:
        """Add a machine."""
        self.free += spot.free
        self.total += spot.total
        sizes = self._sizes.setdefault(spot.kind, {})
        sizes[spot.total] = sizes.get(spot.total, 0) + 1
        key = (spot.kind, spot.owner)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket()
        bucket.free += spot.free
        insert(bucket.by_free.setdefault(spot.free, []), worker)

    def leave(self, worker: WorkerId, spot: WorkerCapacity) -> None:
        """Remove a machine. `spot` must equal the value it was added with."""
        self.free -= spot.free
        self.total -= spot.total
        sizes = self._sizes[spot.kind]
        sizes[spot.total] -= 1
        if not sizes[spot.total]:
            del sizes[spot.total]
            if not sizes:
                del self._sizes[spot.kind]
        key = (spot.kind, spot.owner)
        bucket = self._buckets[key]
        bucket.free -= spot.free
        remove(bucket.by_free, spot.free, worker)
        if not bucket.by_free:
            del self._buckets[key]

    def shift(self, worker: WorkerId, before: WorkerCapacity, spot: WorkerCapacity) -> None:
        """Update the free slots of a machine whose kind and owner stay the same; plans do this most often."""
        if before.free == spot.free:
            return
        bucket = self._buckets[spot.kind, spot.owner]
        self.free += spot.free - before.free
        bucket.free += spot.free - before.free
        remove(bucket.by_free, before.free, worker)
        insert(bucket.by_free.setdefault(spot.free, []), worker)

    def workers(self, kind: SlotKind | None, owners: Owners) -> Iterator[WorkerId]:
        """Yield the machines of these owners, in no particular order."""
        for key in self.classes(kind, owners):
            for ids in self._buckets[key].by_free.values():
                yield from ids

    def foreign(self, kind: SlotKind | None, owners: Owners) -> Iterator[WorkerId]:
        """Yield the machines with free slots whose owner is none of these, in no particular order."""
        for (of, owner), bucket in self._buckets.items():
            if kind in (None, of) and owner not in owners:
                for free, ids in bucket.by_free.items():
                    yield from ids if free else ()

    def total_for(self, kind: SlotKind | None) -> tuple[int, int]:
        """Return what would fit if nothing ran: all slots of the kind, and the most on one machine."""
        kinds = self._sizes if kind is None else (kind,)
        sizes = [size for kind in kinds for size in self._sizes.get(kind, {}).items()]
        return sum(size * count for size, count in sizes), max((size for size, _ in sizes), default=0)

    def free_for(self, kind: SlotKind | None, owners: Owners) -> int:
        """Return the free slots on machines of these owners."""
        return sum([self._buckets[key].free for key in self.classes(kind, owners)])

    def free_and_largest_for(self, kind: SlotKind | None, owners: Owners) -> tuple[int, int]:
        """Return the free slots on machines of these owners, and the most on one of them."""
        free = largest = 0
        for key in self.classes(kind, owners):
            bucket = self._buckets[key]
            free += bucket.free
            largest = max(largest, *bucket.by_free)
        return free, largest

    def owned_free(self, tenant: TenantId) -> int:
        """Return the free slots on machines that serve only this tenant."""
        return sum([self._buckets[key].free for key in self.classes(None, (tenant,))])

    def fitting(self, kind: SlotKind | None, owners: Owners, slots: int, spread: bool) -> WorkerId | None:
        """Return one machine with this many free slots: the fullest, or with `spread` the emptiest; then one
        that the tenant owns, then the lower id."""
        best: tuple[int, bool, WorkerId] | None = None
        for key in self.classes(kind, owners):
            bucket = self._buckets[key].by_free
            free = max(bucket) if spread else min((free for free in bucket if free >= slots), default=0)
            if free >= slots:
                found = (-free if spread else free, key[1] is None, bucket[free][0])
                best = min(best, found) if best else found
        return best[2] if best else None

    def gang(
        self, kind: SlotKind | None, owners: Owners, slots: int
    ) -> tuple[tuple[WorkerId, int], ...] | None:
        """Return as few machines as possible, the emptiest first; the remainder goes to the fullest machine
        that fits. None: too few free slots."""
        classes = sorted(self.classes(kind, owners), key=lambda key: (key[1] is None, key[0] or ""))
        buckets = [self._buckets[key].by_free for key in classes]
        sizes = sorted({free for bucket in buckets for free in bucket if free}, reverse=True)
        chosen: list[tuple[WorkerId, int]] = []
        missing = slots
        for free in sizes:
            for worker in (one for bucket in buckets for one in bucket.get(free, ())):
                if missing <= free:
                    # No machine with fewer free slots was chosen yet.
                    fitting = min(size for size in sizes if size >= missing)
                    last = worker
                    if fitting < free:
                        last = next(ids[0] for bucket in buckets if (ids := bucket.get(fitting)))
                    return (*chosen, (last, missing))
                chosen.append((worker, free))
                missing -= free
        return None

    def classes(self, kind: SlotKind | None, owners: Owners) -> list[Class]:
        """Return the kinds and owners that have machines here."""
        kinds = self._sizes if kind is None else (kind,)
        return [(kind, owner) for kind in kinds for owner in owners if (kind, owner) in self._buckets]


def insert(ids: list[WorkerId], worker: WorkerId) -> None:
    """Insert into a sorted list."""
    if not ids or worker > ids[-1]:
        ids.append(worker)
    else:
        insort(ids, worker)


def remove(bucket: dict[int, list[WorkerId]], key: int, worker: WorkerId) -> None:
    """Remove from a sorted list, and drop the list once it is empty."""
    ids = bucket[key]
    del ids[bisect_left(ids, worker)]
    if not ids:
        del bucket[key]

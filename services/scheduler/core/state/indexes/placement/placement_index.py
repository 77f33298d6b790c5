"""The placement index of one label choice: all its machines, and those of each domain of the pool's topology.

A domain is identified by its label and those of the wider levels, such as rack r7 of zone a. `capacity` keeps
one index for each label choice in use; `fractional_slots` covers shared slots, `zero_slot_runs` runs without slots.
"""

from services.scheduler.core.state.indexes.placement.fractional_slots import SharedSlotIndex
from services.scheduler.core.state.indexes.placement.free_slot_buckets import FreeSlotBuckets, Owners
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.indexes.placement.zero_slot_runs import Auxiliary
from services.scheduler.core.state.records.labels import LabelChoice, Labels
from shared.ids import WorkerId
from shared.messages.trial_specs import SlotKind

Domain = tuple[str, ...]
"""Values of the wider levels, then its own; empty for a missing label of a wider level."""
Domains = tuple[Domain | None, ...]
"""A machine's domain at each level, from narrow to wide; None where the machine lacks the label of that level
and is in no domain."""


class Topology:
    """Label keys from narrow to wide. The domains of equal labels are cached."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self._known: dict[Labels, Domains] = {}

    def domains_of(self, labels: Labels) -> Domains:
        if not self.keys:
            return ()
        known = self._known.get(labels)
        if known is None:
            values = dict(labels)
            known = self._known[labels] = tuple(
                tuple(values.get(wider, "") for wider in reversed(self.keys[level:]))
                if key in values
                else None
                for level, key in enumerate(self.keys)
            )
        return known


class PlacementIndex:
    """The index of these machines. `spread`: emptier machines and domains are taken before fuller ones."""

    def __init__(self, choice: LabelChoice, topology: Topology, spread: bool) -> None:
        self.choice = choice
        self.whole = FreeSlotBuckets()
        self.sharing = SharedSlotIndex()
        self._auxiliary = Auxiliary()
        self._topology = topology
        self._spread = spread
        self._levels: tuple[dict[Domain, FreeSlotBuckets], ...] = tuple({} for _ in topology.keys)

    def change(
        self, worker: WorkerId, labels: Labels, before: WorkerCapacity | None, spot: WorkerCapacity | None
    ) -> None:
        """Update the index after a change of a machine; None: the machine is not open."""
        if before is not None and spot is not None and _is_free_only(before, spot):
            # The most frequent change; the other indexes are unaffected.
            self.whole.shift(worker, before, spot)
        else:
            _move(self.whole, worker, before, spot)
            self._share(worker, before, spot)
        if not self._levels:
            return
        for shelves, domain in zip(self._levels, self._topology.domains_of(labels), strict=True):
            if domain is None:
                continue
            buckets = shelves.get(domain)
            if buckets is None:
                buckets = shelves[domain] = FreeSlotBuckets()
            _move(buckets, worker, before, spot)
            if not buckets:
                del shelves[domain]

    def slotless_worker(self, kind: SlotKind | None, owners: Owners) -> WorkerId | None:
        """Return the machine for a run without slots: the one that accepts the most of them."""
        return self._auxiliary.emptiest(self.whole.classes(kind, owners))

    def one(self, kind: SlotKind | None, owners: Owners, slots: int) -> WorkerId | None:
        """Return one machine with this many free slots."""
        return self.whole.fitting(kind, owners, slots, self._spread)

    def gang(
        self, kind: SlotKind | None, owners: Owners, slots: int, level: int
    ) -> tuple[tuple[WorkerId, int], ...] | None:
        """Return as few machines as possible within one domain of a level; after the last level, anywhere.

        Among domains that need equally few machines, the one with the fewest free slots wins (with `spread`:
        the most), then by name.
        """
        if slots > self.whole.free_for(kind, owners):
            return None
        if level == len(self._levels):
            return self.whole.gang(kind, owners, slots)
        fitting = self._with_room(kind, owners, slots, level)
        if not fitting:
            return None
        # No domain needs fewer machines than the whole pool.
        anywhere = self.whole.gang(kind, owners, slots)
        fewest = len(anywhere) if anywhere else 0
        best: tuple[tuple[WorkerId, int], ...] | None = None
        for _, domain in fitting:
            found = self._levels[level][domain].gang(kind, owners, slots)
            if found is not None and (best is None or len(found) < len(best)):
                best = found
                if len(best) <= fewest:
                    break
        return best

    def _with_room(
        self, kind: SlotKind | None, owners: Owners, slots: int, level: int
    ) -> list[tuple[int, Domain]]:
        """Return the domains with enough free slots in total, the most suitable first."""
        found = []
        for domain, buckets in self._levels[level].items():
            if buckets.free >= slots:
                free = buckets.free_for(kind, owners)
                if free >= slots:
                    found.append((-free if self._spread else free, domain))
        return sorted(found)

    def _share(self, worker: WorkerId, before: WorkerCapacity | None, spot: WorkerCapacity | None) -> None:
        """Update the indexes of shared slots and of runs without slots, if they are affected; in most plans few
        workers are."""
        if before is not None and before.shared_slots and not before.withheld:
            self.sharing.leave(worker, before.kind, before.shared_slots)
        if spot is not None and spot.shared_slots and not spot.withheld:
            self.sharing.enter(worker, spot.kind, spot.shared_slots)
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


def _move(
    buckets: FreeSlotBuckets, worker: WorkerId, before: WorkerCapacity | None, spot: WorkerCapacity | None
) -> None:
    if before is not None and spot is not None and _is_alike(before, spot):
        buckets.shift(worker, before, spot)
        return
    if before is not None:
        buckets.leave(worker, before)
    if spot is not None:
        buckets.enter(worker, spot)


def _is_alike(one: WorkerCapacity, other: WorkerCapacity) -> bool:
    """Whether the two differ at most in their free slots."""
    has_same_owner = one.owner is other.owner or one.owner == other.owner
    return has_same_owner and one.total == other.total and one.kind == other.kind


def _is_free_only(one: WorkerCapacity, other: WorkerCapacity) -> bool:
    """Whether the two differ at most in their free slots, and no slot is shared."""
    return (
        not (one.shared_slots or other.shared_slots)
        and one.auxiliary == other.auxiliary
        and _is_alike(one, other)
    )

"""The machines of one choice: all of them, and those of each domain of the pool's topology. A domain is what one label,
with those of the wider levels, names: rack r7 of zone a. Neighbours: `capacity`, which keeps a ground for every choice
asked for; `shared_slots` knows what is left of slots that are shared, `slotless` where runs without slots go."""

from services.scheduler.core.state.indexes.placement.free_slot_buckets import FreeSlotBuckets, Owners
from services.scheduler.core.state.indexes.placement.shared_slots import SharedSlotIndex
from services.scheduler.core.state.indexes.placement.slotless import Auxiliary
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.records.labels import LabelChoice, Labels
from shared.ids import WorkerId
from shared.messages.specs import SlotKind

Domain = tuple[str, ...]
"""Values of the wider levels, then its own; empty where a machine lacks the label of a wider level."""
Domains = tuple[Domain | None, ...]
"""A machine's domain at each level, from narrow to wide; None where it lacks the label of that level: it is in none then."""


class Topology:
    """Label keys from narrow to wide. Where equal labels stand is found once."""

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
    """The index, and its neighbours' for these machines. `spread`: emptier machines and domains are taken before fuller ones."""

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
        """Keeps the shelves true to what a machine can take now; None: it is not open."""
        if before is not None and spot is not None and _is_free_only(before, spot):
            # What plans change most: neighbours look at nothing that differs.
            self.whole.shift(worker, before, spot)
        else:
            _move(self.whole, worker, before, spot)
            self._share(worker, before, spot)
        if not self._levels:
            return
        for shelves, domain in zip(self._levels, self._topology.domains_of(labels), strict=True):
            if domain is None:
                continue
            shelf = shelves.get(domain)
            if shelf is None:
                shelf = shelves[domain] = FreeSlotBuckets()
            _move(shelf, worker, before, spot)
            if not shelf:
                del shelves[domain]

    def beside(self, kind: SlotKind | None, owners: Owners) -> WorkerId | None:
        """The machine for a run without slots: the one that takes the most more of them."""
        return self._auxiliary.emptiest(self.whole.classes(kind, owners))

    def one(self, kind: SlotKind | None, owners: Owners, slots: int) -> WorkerId | None:
        """One machine with so many free slots."""
        return self.whole.fitting(kind, owners, slots, self._spread)

    def gang(
        self, kind: SlotKind | None, owners: Owners, slots: int, level: int
    ) -> tuple[tuple[WorkerId, int], ...] | None:
        """As few machines as possible within one domain of a level; behind the last level, anywhere.

        Of domains that do with equally few machines it is the one with the fewest free slots (with `spread`: the most), then by name.
        """
        if slots > self.whole.free_for(kind, owners):
            return None
        if level == len(self._levels):
            return self.whole.gang(kind, owners, slots)
        fitting = self._with_room(kind, owners, slots, level)
        if not fitting:
            return None
        # No domain can do with fewer machines than all of them together.
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
        """Domains whose machines have so many slots free together, the most suitable first."""
        found = []
        for domain, shelf in self._levels[level].items():
            if shelf.free >= slots:
                free = shelf.free_for(kind, owners)
                if free >= slots:
                    found.append((-free if self._spread else free, domain))
        return sorted(found)

    def _share(self, worker: WorkerId, before: WorkerCapacity | None, spot: WorkerCapacity | None) -> None:
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


def _move(
    shelf: FreeSlotBuckets, worker: WorkerId, before: WorkerCapacity | None, spot: WorkerCapacity | None
) -> None:
    if before is not None and spot is not None and _is_alike(before, spot):
        shelf.shift(worker, before, spot)
        return
    if before is not None:
        shelf.leave(worker, before)
    if spot is not None:
        shelf.enter(worker, spot)


def _is_alike(one: WorkerCapacity, other: WorkerCapacity) -> bool:
    """Whether at most what is free differs."""
    has_same_owner = one.owner is other.owner or one.owner == other.owner
    return has_same_owner and one.total == other.total and one.kind == other.kind


def _is_free_only(one: WorkerCapacity, other: WorkerCapacity) -> bool:
    """Whether at most what is free differs, and no slot is shared."""
    return not (one.rooms or other.rooms) and one.auxiliary == other.auxiliary and _is_alike(one, other)

"""Free slots of a pool's open workers, indexed by their number; it places requests and gangs. `placement_index` and
`free_slot_buckets` are the indexes behind it, `labels` the constraints.

Tentative changes are undone exactly, so that a plan does not modify the state.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from services.scheduler.core.state.indexes.placement.fractional_slots import (
    SharedSlotIndex,
    after_joining,
    after_opening,
    tightest,
)
from services.scheduler.core.state.indexes.placement.free_slot_buckets import Owners
from services.scheduler.core.state.indexes.placement.placement_index import PlacementIndex, Topology
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity, after_release
from services.scheduler.core.state.records.gang import GangShare
from services.scheduler.core.state.records.labels import EVERYWHERE, LabelChoice, Labels, PlacementConstraint
from services.scheduler.core.state.records.worker import MachineId
from shared.ids import TenantId, WorkerId
from shared.messages.trial_specs import SlotKind, Thousandths

Placement = tuple[tuple[WorkerId, int], ...]
"""Workers and how many of their free slots to take; the chief first. 0: a fraction of a slot that is already
shared, or a run without slots."""
MOST_GROUNDS = 256
"""The number of label choices with an index of their own; for others the index is rebuilt."""

T = TypeVar("T")


class PlacementRequest(NamedTuple):
    """What to place: the shape of a request without its size. `fraction`: a fraction of one slot, in thousandths;
    `where` None: any machine."""

    tenant: TenantId
    kind: SlotKind | None
    single_node: bool
    fraction: Thousandths = 0
    where: PlacementConstraint | None = None


class CapacityIndex:
    """The index.

    Args:
        exclusive: A machine serves one tenant at a time, whatever the number of its workers.
        topology: Label keys from narrow to wide. A gang over several machines is placed within one domain if
            possible.
        spread: A run on one machine gets the emptiest machine that fits, not the fullest.
    """

    def __init__(self, exclusive: bool, topology: tuple[str, ...] = (), spread: bool = False) -> None:
        self.exclusive = exclusive
        self.topology = Topology(topology)
        self._spread = spread
        self._everywhere = PlacementIndex(EVERYWHERE, self.topology, spread)
        self._grounds: dict[LabelChoice, PlacementIndex] = {}
        self._of: dict[Labels, tuple[PlacementIndex, ...]] = {}
        self._spots: dict[WorkerId, WorkerCapacity] = {}
        self._labels: dict[WorkerId, Labels] = {}
        self._alike: dict[Labels, dict[WorkerId, None]] = {}
        self._used: dict[int, dict[WorkerId, None]] = {}
        self._machines: dict[MachineId, dict[WorkerId, None]] = {}
        self._undo: list[dict[WorkerId, WorkerCapacity | None]] = []

    def __len__(self) -> int:
        return len(self._spots)

    def __contains__(self, worker: WorkerId) -> bool:
        return worker in self._spots

    @property
    def free(self) -> int:
        """Free slots of all open workers."""
        return self._everywhere.whole.free

    @property
    def total(self) -> int:
        """Slots of all open workers."""
        return self._everywhere.whole.total

    @property
    def sharing(self) -> SharedSlotIndex:
        """The remaining fractions of shared slots."""
        return self._everywhere.sharing

    def get(self, worker: WorkerId) -> WorkerCapacity | None:
        return self._spots.get(worker)

    def spots(self) -> Iterator[tuple[WorkerId, WorkerCapacity]]:
        """Yield all open workers, in no particular order."""
        return iter(self._spots.items())

    def update(self, worker: WorkerId, labels: Labels, spot: WorkerCapacity | None) -> None:
        """Replace a worker's labels and free slots; None: the worker is not open."""
        if (before := self._labels.get(worker, ())) != labels:
            self.set(worker, None)
            self._alike.get(before, {}).pop(worker, None)
            self._alike.setdefault(labels, {})[worker] = None
            self._labels[worker] = labels
        self.set(worker, spot)

    def admits(self, ask: PlacementRequest, worker: WorkerId) -> bool:
        """Whether labels and exclusions allow the request on this worker."""
        return ask.where is None or ask.where.admits(worker, self._labels.get(worker, ()))

    def labels(self, worker: WorkerId) -> Labels:
        """Return the labels of a worker."""
        return self._labels.get(worker, ())

    def usable_by(self, ask: PlacementRequest) -> list[tuple[WorkerId, WorkerCapacity]]:
        """Return the open workers that the constraints of the request allow and that serve its tenant or no
        tenant, in no particular order."""
        owners = self._owners(ask)
        found = self._answer(ask, lambda ground: list(ground.whole.workers(ask.kind, owners)))
        return [(worker, self._spots[worker]) for worker in found]

    def least_used(self, ask: PlacementRequest) -> Iterator[tuple[WorkerId, WorkerCapacity]]:
        """Yield the open workers that the constraints of the request allow: fewest used slots first, then by id."""
        for used in sorted(self._used):
            # Sorted on demand: plans update machines a thousand times as often as this is called.
            for worker in sorted(self._used[used]):
                spot = self._spots[worker]
                if ask.kind in (None, spot.kind) and self.admits(ask, worker):
                    yield worker, spot

    def owned_free(self, tenant: TenantId) -> int:
        """Return the free slots on machines that serve only this tenant."""
        return self._everywhere.whole.owned_free(tenant)

    def set(self, worker: WorkerId, spot: WorkerCapacity | None) -> None:
        """Replace a worker's free slots; None removes the worker."""
        before = self._spots.get(worker)
        if before == spot:
            return
        if self._undo:
            self._undo[-1].setdefault(worker, before)
        labels = self._labels.get(worker, ())
        for ground in self._of.get(labels) or self._find_grounds(labels):
            ground.change(worker, labels, before, spot)
        if before is not None:
            del self._used[before.total - before.free][worker]
            if before.machine is not None:
                del self._machines[before.machine][worker]
        if spot is not None and spot.machine is not None:
            self._machines.setdefault(spot.machine, {})[worker] = None
        if spot is None:
            self._spots.pop(worker, None)
            return
        self._spots[worker] = spot
        self._used.setdefault(spot.total - spot.free, {})[worker] = None

    def take(self, placement: Placement, ask: PlacementRequest) -> None:
        """Occupy slots, or a fraction of one, for one allocation."""
        owner = ask.tenant if self.exclusive else None
        for worker, slots in placement:
            spot = self._spots[worker]
            auxiliary, rooms, taken_slots = spot.auxiliary, spot.shared_slots, slots
            if ask.fraction:
                # In the later capacity the runs that share this slot may have left; then a new slot is opened.
                taken_slots = slots or int(tightest(rooms, ask.tenant, ask.fraction) is None)
                rooms = (after_opening if taken_slots else after_joining)(rooms, ask.tenant, ask.fraction)
            elif slots == 0:
                auxiliary -= 1
            free, holds = spot.free - taken_slots, spot.holds + 1
            taken = (free, auxiliary, owner, holds, rooms, spot.withheld, spot.disabled)
            machine = (spot.machine, spot.is_held_elsewhere)
            self.set(worker, WorkerCapacity(spot.kind, spot.total, *taken, *machine))
            if spot.machine is not None:
                self.claim(worker, owner)

    def untake(self, placement: Placement) -> None:
        """Undo `take` of whole slots."""
        for worker, slots in placement:
            spot = self._spots[worker]
            holds = spot.holds - 1
            owner = spot.owner if holds or spot.machine is not None or spot.is_held_elsewhere else None
            self.set(worker, spot._replace(free=spot.free + slots, owner=owner, holds=holds))
            self._release_machine(worker)

    def withhold(self, placement: Placement) -> None:
        """Hide free slots and remaining fractions. The owner of the worker does not change."""
        for worker, slots in placement:
            spot = self._spots[worker]
            self.set(worker, spot._replace(free=spot.free - slots, withheld=spot.withheld + 1))

    def restore(self, placement: Placement) -> None:
        """Undo `withhold`."""
        for worker, slots in placement:
            spot = self._spots[worker]
            self.set(worker, spot._replace(free=spot.free + slots, withheld=spot.withheld - 1))

    def give(self, shares: Iterable[GangShare]) -> None:
        """Free the slots of a run. Workers that are not open are ignored."""
        for share in shares:
            spot = self._spots.get(share.worker)
            if spot is not None:
                self.set(share.worker, after_release(spot, share.slot_ids, share.fraction))
                self._release_machine(share.worker)

    def hold_elsewhere(self, worker: WorkerId, owner: TenantId) -> None:
        """Let the machine of a worker, if it is open, serve this tenant because of a worker of another pool."""
        for peer in self.on_machine(worker):
            self.set(peer, self._spots[peer]._replace(owner=owner, is_held_elsewhere=True))

    def claim(self, worker: WorkerId, owner: TenantId | None) -> None:
        """Let the whole machine of a worker serve this tenant."""
        for peer in self.on_machine(worker):
            spot = self._spots[peer]
            if spot.owner != owner:
                self.set(peer, spot._replace(owner=owner))

    def on_machine(self, worker: WorkerId) -> list[WorkerId]:
        """Return the open workers of a worker's machine, including itself."""
        spot = self._spots.get(worker)
        if spot is None:
            return []
        return [worker] if spot.machine is None else sorted(self._machines[spot.machine])

    def serves(self, worker: WorkerId, tenant: TenantId) -> bool:
        """Whether the machine of an open worker serves this tenant or none."""
        spot = self._spots.get(worker)
        return spot is not None and spot.owner in ((tenant, None) if self.exclusive else (None,))

    def machine_of(self, worker: WorkerId) -> MachineId | WorkerId:
        """Return what identifies the machine of a worker in this index."""
        spot = self._spots.get(worker)
        return worker if spot is None or spot.machine is None else spot.machine

    @contextmanager
    def tentative(self) -> Iterator[None]:
        """Undo all changes made inside. Can be nested."""
        self._undo.append({})
        try:
            yield
        finally:
            before = self._undo.pop()
            levels, self._undo = self._undo, []
            for worker, spot in before.items():
                self.set(worker, spot)
            self._undo = levels

    def keep(self, workers: Iterable[WorkerId]) -> None:
        """Exclude these workers from the undo of the current tentative block: the changes are about to be
        carried out."""
        for worker in workers:
            for peer in self.on_machine(worker):
                self._undo[-1].pop(peer, None)

    def place(self, ask: PlacementRequest, slots: int) -> Placement | None:
        """Place all `slots`, or return None.

        Order of preference: one machine; otherwise as few machines as possible within one domain of the
        narrowest level with enough free slots; otherwise as few as possible anywhere. At each stage machines
        with more of the preferred labels come first. Ties go to a worker that already serves the tenant, then
        to the lower id. A fraction joins a shared slot if one has enough left.
        """
        if ask.where is None:
            return self._place_on((self._everywhere,), ask, slots)
        with self._without(ask.where.excluded):
            grounds = tuple(self._ground(choice) for choice in ask.where.choices())
            return self._place_on(grounds, ask, slots)

    def total_for(self, ask: PlacementRequest) -> tuple[int, int]:
        """Return what would fit if nothing ran: all slots of the kind, and the most on one worker."""
        return self._answer(ask, lambda ground: ground.whole.total_for(ask.kind))

    def free_for(self, ask: PlacementRequest) -> int:
        """Return the slots that are free for this request now, on any workers."""
        owners = self._owners(ask)
        return self._answer(ask, lambda ground: ground.whole.free_for(ask.kind, owners))

    def free_on(self, ask: PlacementRequest) -> int:
        """Return the free slots of all machines that the constraints of the request allow, for any tenant."""
        return self._answer(ask, lambda ground: ground.whole.free)

    def free_and_largest_for(self, ask: PlacementRequest) -> tuple[int, int]:
        """Return the slots that are free for this request now, and the most on one worker."""
        owners = self._owners(ask)
        return self._answer(ask, lambda ground: ground.whole.free_and_largest_for(ask.kind, owners))

    def foreign_free(self, ask: PlacementRequest) -> tuple[int, list[WorkerId]]:
        """Return the free slots on machines that serve another tenant, and their workers."""
        if not self.exclusive:
            return 0, []
        owners = self._owners(ask)
        found = self._answer(ask, lambda ground: list(ground.whole.foreign(ask.kind, owners)))
        return sum(self._spots[worker].free for worker in found), sorted(found)

    def _release_machine(self, worker: WorkerId) -> None:
        """Let a machine with several workers serve any tenant once nothing runs on any of them."""
        spot = self._spots[worker]
        if spot.machine is None or spot.holds or spot.is_held_elsewhere:
            return
        if not any(self._spots[peer].holds for peer in self._machines[spot.machine]):
            self.claim(worker, None)

    def _place_on(
        self, grounds: tuple[PlacementIndex, ...], ask: PlacementRequest, slots: int
    ) -> Placement | None:
        owners = self._owners(ask)
        if ask.fraction:
            return _place_fraction(grounds, ask, owners)
        if slots > self.free:
            return None
        for ground in grounds:
            worker = (
                ground.one(ask.kind, owners, slots) if slots else ground.slotless_worker(ask.kind, owners)
            )
            if worker is not None:
                return ((worker, slots),)
        if ask.single_node or not self.exclusive or slots == 0:
            return None
        for level in range(len(self.topology.keys) + 1):
            for ground in grounds:
                found = ground.gang(ask.kind, owners, slots, level)
                if found is not None:
                    return found
        return None

    def _owners(self, ask: PlacementRequest) -> Owners:
        return (ask.tenant, None) if self.exclusive else (None,)

    def _answer(self, ask: PlacementRequest, question: Callable[[PlacementIndex], T]) -> T:
        """Evaluate `question` on the index of the machines that the constraints of the request allow."""
        if ask.where is None:
            return question(self._everywhere)
        with self._without(ask.where.excluded):
            return question(self._ground(LabelChoice(ask.where.required)))

    @contextmanager
    def _without(self, workers: tuple[WorkerId, ...]) -> Iterator[None]:
        """Remove a few workers from all indexes inside the block."""
        if not workers:
            yield
            return
        with self.tentative():
            for worker in workers:
                self.set(worker, None)
            yield

    def _ground(self, choice: LabelChoice) -> PlacementIndex:
        """Return the index of these machines; it is built on first use."""
        if choice == EVERYWHERE:
            return self._everywhere
        ground = self._grounds.pop(choice, None)
        if ground is None:
            ground = PlacementIndex(choice, self.topology, self._spread)
            for labels, workers in self._alike.items():
                for worker in workers if choice.holds(labels) else ():
                    ground.change(worker, labels, None, self._spots.get(worker))
            if len(self._grounds) == MOST_GROUNDS:
                del self._grounds[next(iter(self._grounds))]
            self._of.clear()
        self._grounds[choice] = ground
        return ground

    def _find_grounds(self, labels: Labels) -> tuple[PlacementIndex, ...]:
        """Return the indexes that contain machines with these labels."""
        found = (
            self._everywhere,
            *(ground for ground in self._grounds.values() if ground.choice.holds(labels)),
        )
        self._of[labels] = found
        return found


def _place_fraction(
    grounds: tuple[PlacementIndex, ...], ask: PlacementRequest, owners: Owners
) -> Placement | None:
    for ground in grounds:
        shared = ground.sharing.tightest(ask.tenant, ask.kind, ask.fraction)
        if shared is not None:
            return ((shared, 0),)
    for ground in grounds:
        fresh = ground.one(ask.kind, owners, 1)
        if fresh is not None:
            return ((fresh, 1),)
    return None

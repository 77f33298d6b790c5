"""Packs elastic runs onto machines. A run with an unchanged number of slots stays, a growing run stays near its
machines, and two gangs over several machines never share one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from services.scheduler.core.planning.elastic.affinity import ANY, MachineAffinity, MachinePreference
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.indexes.placement.placement_index import Domains
from shared.ids import TrialId, WorkerId


@dataclass(slots=True)
class _Machine:
    slots: int
    free: int
    guests: dict[TrialId, int] = field(default_factory=dict)


def allowed_sizes(min_slots: int, max_slots: int, per_machine: int) -> tuple[int, ...]:
    """Return the numbers of slots that pack without waste: the minimum, halvings of a machine, and whole
    machines; increasing.

    Whole machines keep gangs that span several machines from sharing one, where they would slow each other down
    (Pollux, section 4.2, interference avoidance). Halvings leave no gaps inside a machine.
    """
    halves = []
    size = per_machine
    while size:
        halves.append(size)
        size //= 2
    whole = range(2 * per_machine, max_slots + 1, per_machine)
    return tuple(sorted({min_slots, *(size for size in (*halves, *whole) if min_slots <= size <= max_slots)}))


class Packing:
    """Machines being filled. `free`: slots that no run outside the packing holds."""

    def __init__(
        self,
        free: Mapping[WorkerId, int],
        held: Mapping[TrialId, Placement],
        tastes: Mapping[TrialId, MachinePreference] | None = None,
        domains: Mapping[WorkerId, Domains] | None = None,
    ) -> None:
        """`free` includes what `held` occupies. A run on a machine that is not listed stays outside. `domains`:
        see `MachineAffinity`."""
        self._tastes = tastes or {}
        self._domains = domains or {}
        self._machines = {worker: _Machine(slots, slots) for worker, slots in sorted(free.items())}
        self._held = dict(held)
        self._placed: dict[TrialId, Placement] = {}

    def pack(
        self, wanted: Mapping[TrialId, int], least: Mapping[TrialId, int] | None = None
    ) -> dict[TrialId, Placement]:
        """Return a placement for each run with slots: as many as wanted, or fewer if they do not fit, halving
        down to `least`.

        Runs with an unchanged number stay; the others are placed from the largest to the smallest, ties by id.
        A run that does not fit displaces smaller ones, as few as possible. A placed run never loses its
        placement entirely: if the remaining fragments are too small for it, it stays as it is.
        """
        least = least or {}
        staying: set[TrialId] = set()
        while True:
            self._place_all(wanted, least, staying)
            lost = {trial for trial in wanted if self._held.get(trial) and trial not in self._placed}
            if not lost - staying:
                return self._placed
            staying |= lost
            for trial in list(self._placed):
                self._take(trial)

    def _place_all(
        self, wanted: Mapping[TrialId, int], least: Mapping[TrialId, int], staying: set[TrialId]
    ) -> None:
        waiting: list[tuple[int, TrialId]] = []
        for trial in sorted(wanted, key=lambda trial: trial not in staying):
            slots, held = wanted[trial], self._held.get(trial, ())
            is_same = slots == sum(count for _, count in held) or trial in staying
            if held and is_same and self._can_stay(held):
                self._put(trial, held)
            elif slots:
                waiting.append((slots, trial))
        while waiting:
            waiting.sort(key=lambda item: (-item[0], item[1]))
            slots, trial = waiting.pop(0)
            placement = self._find(trial, slots)
            if placement is None:
                moved = [other for other in self._make_room(trial, slots) if other not in staying]
                waiting += [(sum(count for _, count in self._take(other)), other) for other in moved]
                placement = self._find(trial, slots)
            if placement is not None:
                self._put(trial, placement)
            elif slots > least.get(trial, 1):
                waiting.append((max(slots // 2, least.get(trial, 1)), trial))

    def _can_stay(self, held: Placement) -> bool:
        return all(
            worker in self._machines and self._machines[worker].free >= count for worker, count in held
        )

    def _put(self, trial: TrialId, placement: Placement) -> None:
        self._placed[trial] = placement
        for worker, count in placement:
            machine = self._machines[worker]
            machine.free -= count
            machine.guests[trial] = count

    def _take(self, trial: TrialId) -> Placement:
        placement = self._placed.pop(trial)
        for worker, count in placement:
            machine = self._machines[worker]
            machine.free += count
            del machine.guests[trial]
        return placement

    def _find(self, trial: TrialId, slots: int) -> Placement | None:
        """Return one machine: the run's own, otherwise one with more preferred labels, otherwise the nearest,
        otherwise the fullest that fits. If none fits, return whole free machines: few, within one domain of the
        narrowest level with enough free slots."""
        near = self._near(trial)
        fitting = [
            (near.rank(worker), machine.free, worker)
            for worker, machine in self._open_to(trial)
            if machine.free >= slots
        ]
        if fitting:
            return ((min(fitting)[2], slots),)
        empty = [worker for worker, machine in self._open_to(trial) if machine.slots and not machine.guests]
        for groups in near.groups(empty):
            found = [place for group in groups if (place := self._spread_over(group, slots, near))]
            if found:
                return min(found, key=len)
        return None

    def _spread_over(
        self, workers: Sequence[WorkerId], slots: int, near: MachineAffinity
    ) -> Placement | None:
        """Return whole free machines, the largest first; None: too few."""
        chosen: list[tuple[WorkerId, int]] = []
        for worker in sorted(
            workers, key=lambda worker: (-self._machines[worker].slots, near.rank(worker), worker)
        ):
            count = min(slots, self._machines[worker].slots)
            chosen.append((worker, count))
            slots -= count
            if not slots:
                return tuple(chosen)
        return None

    def _near(self, trial: TrialId) -> MachineAffinity:
        return MachineAffinity(self._held.get(trial, ()), self._tastes.get(trial, ANY), self._domains)

    def _open_to(self, trial: TrialId) -> Iterator[tuple[WorkerId, _Machine]]:
        barred = self._tastes.get(trial, ANY).barred
        return ((worker, machine) for worker, machine in self._machines.items() if worker not in barred)

    def _make_room(self, trial: TrialId, slots: int) -> list[TrialId]:
        """Return the runs to displace, all smaller than `slots`: as few as possible, from near machines; none
        if that does not suffice."""
        largest = max((machine.slots for _, machine in self._open_to(trial)), default=0)
        offers: dict[WorkerId, list[TrialId]] = {}
        for worker, machine in self._open_to(trial):
            moved = self._cleared(machine, min(slots, largest), slots)
            if moved is not None:
                offers[worker] = moved
        needed, near = -(-slots // largest) if largest else 1, self._near(trial)
        order = sorted(
            offers, key=lambda name: (len(offers[name]), near.rank(name), -self._machines[name].free, name)
        )
        found = [
            list(dict.fromkeys(guest for worker in group[:needed] for guest in offers[worker]))
            for groups in near.groups(order)
            for group in groups
            if len(group) >= needed
        ]
        return min(found, key=len, default=[])

    def _cleared(self, machine: _Machine, target: int, slots: int) -> list[TrialId] | None:
        """Return the guests, smallest first, whose removal leaves `target` free slots; None: removing all
        smaller ones does not suffice."""
        if machine.slots < target:
            return None
        free, moved = machine.free, []
        for guest, count in sorted(machine.guests.items(), key=lambda guest: (guest[1], guest[0])):
            if free >= target:
                break
            if sum(held for _, held in self._placed[guest]) < slots:
                moved.append(guest)
                free += count
        return moved if free >= target else None

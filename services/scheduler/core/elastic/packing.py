"""Where the slots of elastic runs lie: who keeps his number keeps his place, gangs over several machines share none with another gang."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from services.scheduler.core.placement.capacity import Placement
from shared.ids import TrialId, WorkerId


@dataclass(slots=True)
class _Machine:
    slots: int
    free: int
    guests: dict[TrialId, int] = field(default_factory=dict)


def allowed_sizes(min_slots: int, max_slots: int, per_machine: int) -> tuple[int, ...]:
    """Numbers of slots that pack without waste: the minimum, halvings of a machine, whole machines; rising.

    Whole machines keep gangs that span several from sharing one, where they would slow each other down (Pollux, section 4.2,
    interference avoidance); halvings leave no gaps inside a machine.
    """
    halves = []
    size = per_machine
    while size:
        halves.append(size)
        size //= 2
    whole = range(2 * per_machine, max_slots + 1, per_machine)
    return tuple(sorted({min_slots, *(size for size in (*halves, *whole) if min_slots <= size <= max_slots)}))


class Packing:
    """Machines being filled. `free` slots are those that no run outside holds."""

    def __init__(
        self,
        free: Mapping[WorkerId, int],
        held: Mapping[TrialId, Placement],
        barred: Mapping[TrialId, frozenset[WorkerId]] | None = None,
    ) -> None:
        """`free` without what `held` occupies; a run whose machine is not among them stands outside. `barred`: not there."""
        self._barred = barred or {}
        self._machines = {worker: _Machine(slots, slots) for worker, slots in sorted(free.items())}
        self._held = dict(held)
        self._placed: dict[TrialId, Placement] = {}

    def pack(
        self, wanted: Mapping[TrialId, int], least: Mapping[TrialId, int] | None = None
    ) -> dict[TrialId, Placement]:
        """A place for each run with slots: as many as wanted, or fewer where they do not fit, a half at a time and not below `least`.

        Runs that keep their number stay, the others are placed from the largest to the smallest, in ties by id. One that does not fit
        moves smaller ones away, as few as will do. One that has a place never loses it for nothing: where the pieces left over would be
        too small for it, it stays as it is.
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
        """One machine, the fullest that fits, else whole free ones, the largest first; of equals where the run is already."""
        mine = dict(self._held.get(trial, ()))
        fitting = [
            (machine.free, -mine.get(worker, 0), worker)
            for worker, machine in self._open_to(trial)
            if machine.free >= slots
        ]
        if fitting:
            return ((min(fitting)[2], slots),)
        empty = sorted(
            (-machine.slots, -mine.get(worker, 0), worker)
            for worker, machine in self._open_to(trial)
            if machine.slots and not machine.guests
        )
        chosen: list[tuple[WorkerId, int]] = []
        for size, _, worker in empty:
            count = min(slots, -size)
            chosen.append((worker, count))
            slots -= count
            if not slots:
                return tuple(chosen)
        return None

    def _open_to(self, trial: TrialId) -> Iterator[tuple[WorkerId, _Machine]]:
        barred = self._barred.get(trial, ())
        return ((worker, machine) for worker, machine in self._machines.items() if worker not in barred)

    def _make_room(self, trial: TrialId, slots: int) -> list[TrialId]:
        """The runs to move away, all smaller than `slots`, from the machines that lose fewest by it; none if that cannot do."""
        largest = max((machine.slots for _, machine in self._open_to(trial)), default=0)
        offers: list[tuple[int, int, WorkerId, list[TrialId]]] = []
        for worker, machine in self._open_to(trial):
            target = min(slots, largest)
            if machine.slots < target:
                continue
            free, moved = machine.free, []
            for guest, count in sorted(machine.guests.items(), key=lambda guest: (guest[1], guest[0])):
                if free >= target:
                    break
                if sum(held for _, held in self._placed[guest]) < slots:
                    moved.append(guest)
                    free += count
            if free >= target:
                offers.append((len(moved), -machine.free, worker, moved))
        needed = -(-slots // largest) if largest else 1
        if len(offers) < needed:
            return []
        moved_all: dict[TrialId, None] = {}
        for _, _, _, moved in sorted(offers)[:needed]:
            moved_all |= dict.fromkeys(moved)
        return list(moved_all)

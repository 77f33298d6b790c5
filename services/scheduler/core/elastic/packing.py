"""Where the slots of elastic runs lie: who keeps his number keeps his place, gangs over several machines share none with another gang."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.scheduler.core.capacity import Placement
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

    def __init__(self, free: Mapping[WorkerId, int], held: Mapping[TrialId, Placement]) -> None:
        """`free` without what `held` occupies; a run whose machine is not among them stands outside."""
        self._machines = {worker: _Machine(slots, slots) for worker, slots in sorted(free.items())}
        self._held = dict(held)
        self._placed: dict[TrialId, Placement] = {}

    def pack(self, wanted: Mapping[TrialId, int]) -> dict[TrialId, Placement]:
        """A place for each run with slots, as many as wanted, or fewer (a half at a time) where they do not fit.

        Runs that keep their number stay, the others are placed from the largest to the smallest, in ties by id. One that does not fit
        moves smaller ones away, as few as will do.
        """
        waiting: list[tuple[int, TrialId]] = []
        for trial, slots in wanted.items():
            held = self._held.get(trial, ())
            if slots and slots == sum(count for _, count in held) and self._can_stay(held):
                self._put(trial, held)
            elif slots:
                waiting.append((slots, trial))
        while waiting:
            waiting.sort(key=lambda item: (-item[0], item[1]))
            slots, trial = waiting.pop(0)
            placement = self._find(trial, slots)
            if placement is None:
                moved = self._make_room(slots)
                waiting += [(sum(count for _, count in self._take(other)), other) for other in moved]
                placement = self._find(trial, slots)
            if placement is not None:
                self._put(trial, placement)
            elif slots > 1:
                waiting.append((slots // 2, trial))
        return self._placed

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
            for worker, machine in self._machines.items()
            if machine.free >= slots
        ]
        if fitting:
            return ((min(fitting)[2], slots),)
        empty = sorted(
            (-machine.slots, -mine.get(worker, 0), worker)
            for worker, machine in self._machines.items()
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

    def _make_room(self, slots: int) -> list[TrialId]:
        """The runs to move away, all smaller than `slots`, from the machines that lose fewest by it; none if that cannot do."""
        largest = max((machine.slots for machine in self._machines.values()), default=0)
        offers: list[tuple[int, int, WorkerId, list[TrialId]]] = []
        for worker, machine in self._machines.items():
            target = min(slots, largest)
            if machine.slots < target:
                continue
            free, moved = machine.free, []
            for trial, count in sorted(machine.guests.items(), key=lambda guest: (guest[1], guest[0])):
                if free >= target:
                    break
                if sum(held for _, held in self._placed[trial]) < slots:
                    moved.append(trial)
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

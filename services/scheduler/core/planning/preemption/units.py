"""What asking frees on one machine: a run of whole slots its own; runs that share a slot only together; and for a part of a slot, enough
of those with whom its own tenant shares one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation
from services.scheduler.core.state.records.worker import Rooms, SharedSlot
from shared.messages.specs import WHOLE_SLOT


@dataclass(frozen=True, slots=True)
class PreemptionUnit:
    """Runs that are of use only together, and how many slots they free. Never empty."""

    standers: tuple[RunningAllocation, ...]
    slots: int


def order(one: RunningAllocation) -> tuple[int, int, int]:
    """Who is asked first: the least important, then who was saved last, then the youngest."""
    return (-one.leaf.priority, -one.saved_ms, -one.token)


def units_of(
    askable: Sequence[RunningAllocation], rooms: Rooms, ask: PlacementRequest
) -> list[PreemptionUnit]:
    """The units that can be made of those who may be asked, by the most important of each.

    Args:
        rooms: What will be left of shared slots when all has gone that was asked already.
    """
    units = [PreemptionUnit((one,), int(one.here)) for one in askable if one.shared is None and one.here]
    for room in rooms:
        sharers = [one for one in askable if one.shared == room.slot]
        if ask.part and room.tenant == ask.tenant:
            sharers = _enough(sharers, ask.part - room.left)
        elif not _is_cleared(room, sharers):
            continue
        if sharers:
            units.append(PreemptionUnit(tuple(sharers), 1))
    return sorted(units, key=lambda unit: max(order(one) for one in unit.standers))


def _is_cleared(room: SharedSlot, sharers: Iterable[RunningAllocation]) -> bool:
    return room.left + sum(one.part for one in sharers) >= WHOLE_SLOT


def _enough(sharers: Iterable[RunningAllocation], missing: int) -> list[RunningAllocation]:
    """The cheapest that leave so much; those that turn out needless are spared."""
    chosen: list[RunningAllocation] = []
    for one in sorted(sharers, key=order):
        if missing > 0:
            chosen.append(one)
            missing -= one.part
    if missing > 0:
        return []
    for one in reversed(chosen[:-1]):
        if missing + one.part <= 0:
            chosen.remove(one)
            missing += one.part
    return chosen

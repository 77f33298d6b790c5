"""Preemption units of one machine: a run with whole slots is one by itself; runs that share a slot free it only
together; a fractional request needs enough runs that share a slot of its own tenant."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.running_allocations import RunningAllocation
from services.scheduler.core.state.records.worker import Rooms, SharedSlot
from shared.messages.trial_specs import WHOLE_SLOT


@dataclass(frozen=True, slots=True)
class PreemptionUnit:
    """Runs that must be preempted together, and the slots that they free. Never empty."""

    allocations: tuple[RunningAllocation, ...]
    slots: int


def order(one: RunningAllocation) -> tuple[int, int, int]:
    """Return the sort key of candidates: the least important first, then those saved last, then the youngest."""
    return (-one.leaf.priority, -one.saved_ms, -one.token)


def units_of(
    askable: Sequence[RunningAllocation], rooms: Rooms, ask: PlacementRequest
) -> list[PreemptionUnit]:
    """Return the units that can be formed from the candidates, sorted by the most important run of each.

    Args:
        rooms: Shared slots once all preempted runs have left.
    """
    units = [PreemptionUnit((one,), int(one.here)) for one in askable if one.shared is None and one.here]
    for room in rooms:
        sharers = [one for one in askable if one.shared == room.slot]
        if ask.fraction and room.tenant == ask.tenant:
            sharers = _enough(sharers, ask.fraction - room.left)
        elif not _is_cleared(room, sharers):
            continue
        if sharers:
            units.append(PreemptionUnit(tuple(sharers), 1))
    return sorted(units, key=lambda unit: max(order(one) for one in unit.allocations))


def _is_cleared(room: SharedSlot, sharers: Iterable[RunningAllocation]) -> bool:
    return room.left + sum(one.fraction for one in sharers) >= WHOLE_SLOT


def _enough(sharers: Iterable[RunningAllocation], missing: int) -> list[RunningAllocation]:
    """Return the cheapest candidates that free enough, without unnecessary ones."""
    chosen: list[RunningAllocation] = []
    for one in sorted(sharers, key=order):
        if missing > 0:
            chosen.append(one)
            missing -= one.fraction
    if missing > 0:
        return []
    for one in reversed(chosen[:-1]):
        if missing + one.fraction <= 0:
            chosen.remove(one)
            missing += one.fraction
    return chosen

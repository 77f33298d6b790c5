"""The remaining capacity of one worker: the entry of `capacity`."""

from typing import NamedTuple

from services.scheduler.core.state.indexes.placement.fractional_slots import after_leaving
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.worker import MachineId, Rooms, Worker
from shared.ids import TenantId
from shared.messages.trial_specs import SlotKind, Thousandths


class WorkerCapacity(NamedTuple):
    """The remaining capacity of one worker. A tuple, because plans create and compare tens of thousands of them.

    Attributes:
        total, free: Slots without the `disabled` ones.
        owner: The tenant that the worker's machine serves; only in an exclusive pool.
        holds: The number of allocations.
        rooms: What is left of shared slots. None can be joined while `withheld` is above 0.
        withheld: How often slots here were withheld.
        machine: Set if other workers run on the same machine; all of them have one owner.
        is_held_elsewhere: Workers that are not in the index (closed, or of another pool) have runs on the machine.
    """

    kind: SlotKind | None
    total: int
    free: int
    auxiliary: int
    owner: TenantId | None = None
    holds: int = 0
    shared_slots: Rooms = ()
    withheld: int = 0
    disabled: frozenset[int] = frozenset()
    machine: MachineId | None = None
    is_held_elsewhere: bool = False


def spot_of(worker: Worker, policy: PoolPolicy) -> WorkerCapacity | None:
    """Return the current capacity of a worker that is alone on its machine; None: it accepts no runs."""
    if not worker.is_open or policy.refusal_of(worker):
        return None
    taken, usable = worker.taken(), worker.usable_slot_ids
    return WorkerCapacity(
        kind=worker.kind,
        total=len(usable),
        free=len([slot for slot in usable if slot not in taken.slots]),
        auxiliary=policy.auxiliary_per_worker - taken.auxiliary,
        owner=taken.owner if policy.exclusive else None,
        holds=len(worker.held),
        shared_slots=worker.shared_slots if taken.has_fractions else (),
        disabled=worker.disabled,
    )


def after_release(spot: WorkerCapacity, slot_ids: tuple[int, ...], fraction: Thousandths) -> WorkerCapacity:
    """Return the capacity after a run with these slots, or with a fraction of one, has left. A machine without
    runs has no owner; the caller decides this for a machine with several workers."""
    slots, rooms = len(slot_ids) - len(spot.disabled.intersection(slot_ids)), spot.shared_slots
    if fraction:
        rooms, is_free = after_leaving(rooms, slot_ids[0], fraction)
        slots = int(is_free)
    left = max(0, spot.holds - 1)
    return spot._replace(
        free=min(spot.total, spot.free + slots),
        auxiliary=spot.auxiliary + (not slot_ids),
        owner=spot.owner if left or spot.machine is not None or spot.is_held_elsewhere else None,
        holds=left,
        shared_slots=rooms,
    )

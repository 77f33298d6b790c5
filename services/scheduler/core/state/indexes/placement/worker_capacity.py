"""What a worker can still take: the entry of `capacity`."""

from typing import NamedTuple

from services.scheduler.core.state.indexes.placement.shared_slots import after_leaving
from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.core.state.records.worker import Rooms, Worker
from shared.ids import TenantId
from shared.messages.specs import SlotKind, Thousandths


class WorkerCapacity(NamedTuple):
    """What a worker can still take; `total` and `free` without its `disabled` slots. `owner` matters in an exclusive pool only; `holds` counts allocations there; `rooms` are left of
    slots that are shared, and nobody joins them while something is withheld there (`withheld` counts how often).

    A tuple, because plans make and compare tens of thousands of them.
    """

    kind: SlotKind | None
    total: int
    free: int
    auxiliary: int
    owner: TenantId | None = None
    holds: int = 0
    rooms: Rooms = ()
    withheld: int = 0
    disabled: frozenset[int] = frozenset()


def spot_of(worker: Worker, policy: PoolPolicy) -> WorkerCapacity | None:
    """What a worker can take now; None: nothing may be granted there."""
    if not worker.is_open:
        return None
    taken, usable = worker.taken(), worker.usable_slot_ids
    return WorkerCapacity(
        kind=worker.kind,
        total=len(usable),
        free=len([slot for slot in usable if slot not in taken.slots]),
        auxiliary=policy.auxiliary_per_worker - taken.auxiliary,
        owner=taken.owner if policy.exclusive else None,
        holds=len(worker.held),
        rooms=worker.rooms if taken.has_parts else (),
        disabled=worker.disabled,
    )


def after_release(spot: WorkerCapacity, slot_ids: tuple[int, ...], part: Thousandths) -> WorkerCapacity:
    """What a worker can take once a run with these slots, or so much of one, has left; without any run it has no owner."""
    slots, rooms = len(slot_ids) - len(spot.disabled.intersection(slot_ids)), spot.rooms
    if part:
        rooms, is_free = after_leaving(rooms, slot_ids[0], part)
        slots = int(is_free)
    left = max(0, spot.holds - 1)
    return spot._replace(
        free=min(spot.total, spot.free + slots),
        auxiliary=spot.auxiliary + (not slot_ids),
        owner=spot.owner if left else None,
        holds=left,
        rooms=rooms,
    )

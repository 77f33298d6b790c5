"""What a worker can still take: the entry of `capacity`."""

from typing import NamedTuple

from services.scheduler.core.parts import Rooms, parted
from shared.ids import TenantId
from shared.messages.specs import SlotKind, Thousandths


class Spot(NamedTuple):
    """What a worker can still take. `owner` matters in an exclusive pool only; `holds` counts allocations there; `rooms` are left of
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


def without(spot: Spot, slot_ids: tuple[int, ...], part: Thousandths) -> Spot:
    """What a worker can take once a run with these slots, or so much of one, has left; without any run it has no owner."""
    slots, rooms = len(slot_ids), spot.rooms
    if part:
        rooms, is_free = parted(rooms, slot_ids[0], part)
        slots = int(is_free)
    left = max(0, spot.holds - 1)
    return spot._replace(
        free=min(spot.total, spot.free + slots),
        auxiliary=spot.auxiliary + (not slot_ids),
        owner=spot.owner if left else None,
        holds=left,
        rooms=rooms,
    )

"""Slots that several runs of one tenant share: how much of each is left, and which one a part joins.

A shared slot is a whole slot to `capacity`, taken when its first run comes and free when its last one has gone. A part joins the slot
that is left with the least; only where none has room is another opened.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable

from services.scheduler.core.state.records.worker import Rooms, SharedSlot
from shared.ids import TenantId, WorkerId
from shared.messages.specs import WHOLE_SLOT, SlotKind, Thousandths

_Place = tuple[Thousandths, WorkerId]


def tightest(rooms: Rooms, tenant: TenantId, part: Thousandths) -> SharedSlot | None:
    """The slot that a part joins on one worker: the one left with the least."""
    fitting = (room for room in rooms if room.tenant == tenant and room.left >= part)
    return min(fitting, key=lambda room: (room.left, room.slot), default=None)


def after_joining(rooms: Rooms, tenant: TenantId, part: Thousandths) -> Rooms:
    """The rooms once a part has joined; there must be room for it."""
    room = tightest(rooms, tenant, part)
    assert room is not None
    return tuple(one._replace(left=one.left - part) if one is room else one for one in rooms)


def after_opening(rooms: Rooms, tenant: TenantId, part: Thousandths) -> Rooms:
    """The rooms once a slot was opened for a part."""
    return (*rooms, SharedSlot(-1 - len(rooms), tenant, WHOLE_SLOT - part))


def after_leaving(rooms: Rooms, slot: int, part: Thousandths) -> tuple[Rooms, bool]:
    """The rooms once a part has left this slot; True: that was the last, and the slot is free."""
    found = next((room for room in rooms if room.slot == slot), None)
    if found is None:
        return rooms, False
    if found.left + part >= WHOLE_SLOT:
        return tuple(room for room in rooms if room is not found), True
    return tuple(room._replace(left=room.left + part) if room is found else room for room in rooms), False


class SharedSlotIndex:
    """The index of a pool's rooms: by tenant and kind of slot, those left with the least first, then by worker."""

    def __init__(self) -> None:
        self._places: dict[TenantId, dict[SlotKind | None, list[_Place]]] = {}

    def __bool__(self) -> bool:
        return bool(self._places)

    def enter(self, worker: WorkerId, kind: SlotKind | None, rooms: Rooms) -> None:
        for room in rooms:
            places = self._places.setdefault(room.tenant, {}).setdefault(kind, [])
            insort(places, (room.left, worker))

    def leave(self, worker: WorkerId, kind: SlotKind | None, rooms: Rooms) -> None:
        for room in rooms:
            kinds = self._places[room.tenant]
            places = kinds[kind]
            del places[bisect_left(places, (room.left, worker))]
            if not places:
                del kinds[kind]
                if not kinds:
                    del self._places[room.tenant]

    def tightest(self, tenant: TenantId, kind: SlotKind | None, part: Thousandths) -> WorkerId | None:
        """The worker with the shared slot that a part should join; `kind` None takes any."""
        found = (
            places[at]
            for places in self._of(tenant, kind)
            if (at := bisect_left(places, (part,))) < len(places)
        )
        best = min(found, default=None)
        return best[1] if best else None

    def largest(self, tenant: TenantId) -> Thousandths:
        """The most that is left of any slot that this tenant shares."""
        return max((places[-1][0] for places in self._of(tenant, None)), default=0)

    def _of(self, tenant: TenantId, kind: SlotKind | None) -> Iterable[list[_Place]]:
        kinds = self._places.get(tenant, {})
        return kinds.values() if kind is None else filter(None, (kinds.get(kind),))

"""Slots shared by several runs of one tenant: what is left of each, and which one a fractional run joins.

For `capacity` a shared slot is a whole slot: taken when its first run starts, and free when its last run has
ended. A fractional run joins the slot with the least left that fits. Only if none fits, another slot is opened.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable

from services.scheduler.core.state.records.worker import Rooms, SharedSlot
from shared.ids import TenantId, WorkerId
from shared.messages.trial_specs import WHOLE_SLOT, SlotKind, Thousandths

_Entry = tuple[Thousandths, WorkerId]


def tightest(rooms: Rooms, tenant: TenantId, fraction: Thousandths) -> SharedSlot | None:
    """Return the slot that a fraction joins on one worker: the one with the least left that fits."""
    fitting = (room for room in rooms if room.tenant == tenant and room.left >= fraction)
    return min(fitting, key=lambda room: (room.left, room.slot), default=None)


def after_joining(rooms: Rooms, tenant: TenantId, fraction: Thousandths) -> Rooms:
    """Return the shared slots after a fraction has joined one; one must fit."""
    room = tightest(rooms, tenant, fraction)
    assert room is not None
    return tuple(one._replace(left=one.left - fraction) if one is room else one for one in rooms)


def after_opening(rooms: Rooms, tenant: TenantId, fraction: Thousandths) -> Rooms:
    """Return the shared slots after a slot was opened for a fraction."""
    return (*rooms, SharedSlot(-1 - len(rooms), tenant, WHOLE_SLOT - fraction))


def after_leaving(rooms: Rooms, slot: int, fraction: Thousandths) -> tuple[Rooms, bool]:
    """Return the shared slots after a fraction has left this one, and whether the slot is free now."""
    found = next((room for room in rooms if room.slot == slot), None)
    if found is None:
        return rooms, False
    if found.left + fraction >= WHOLE_SLOT:
        return tuple(room for room in rooms if room is not found), True
    return tuple(room._replace(left=room.left + fraction) if room is found else room for room in rooms), False


class SharedSlotIndex:
    """The index of a pool's shared slots by tenant and kind, sorted by the fraction left, then by worker."""

    def __init__(self) -> None:
        self._by_tenant: dict[TenantId, dict[SlotKind | None, list[_Entry]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_tenant)

    def enter(self, worker: WorkerId, kind: SlotKind | None, rooms: Rooms) -> None:
        for room in rooms:
            entries = self._by_tenant.setdefault(room.tenant, {}).setdefault(kind, [])
            insort(entries, (room.left, worker))

    def leave(self, worker: WorkerId, kind: SlotKind | None, rooms: Rooms) -> None:
        for room in rooms:
            kinds = self._by_tenant[room.tenant]
            entries = kinds[kind]
            del entries[bisect_left(entries, (room.left, worker))]
            if not entries:
                del kinds[kind]
                if not kinds:
                    del self._by_tenant[room.tenant]

    def tightest(self, tenant: TenantId, kind: SlotKind | None, fraction: Thousandths) -> WorkerId | None:
        """Return the worker whose shared slot a fraction should join; `kind` None allows any kind."""
        found = (
            entries[at]
            for entries in self._of(tenant, kind)
            if (at := bisect_left(entries, (fraction,))) < len(entries)
        )
        best = min(found, default=None)
        return best[1] if best else None

    def largest(self, tenant: TenantId) -> Thousandths:
        """Return the largest fraction left of any slot that this tenant shares."""
        return max((entries[-1][0] for entries in self._of(tenant, None)), default=0)

    def _of(self, tenant: TenantId, kind: SlotKind | None) -> Iterable[list[_Entry]]:
        kinds = self._by_tenant.get(tenant, {})
        return kinds.values() if kind is None else filter(None, (kinds.get(kind),))

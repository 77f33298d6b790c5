"""A worker as the scheduler sees it: its slots, their allocations, and its liveness."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType
from uuid import UUID

from services.scheduler.core.state.records.labels import Labels
from shared.ids import AllocationId, PoolName, TenantId, WorkerId
from shared.messages.trial_specs import WHOLE_SLOT, Isolation, SlotKind, Thousandths
from shared.state_machine import StateMachine

MachineId = NewType("MachineId", str)
SEVERAL_TENANTS = TenantId(UUID(int=2**128 - 1))
"""The owner of a machine with runs of several tenants, or with unknown ones: it serves no tenant until they end."""


class Liveness(StrEnum):
    """Whether a worker sends heartbeats. `joined`: it has credentials and has sent none yet. `removed`: it was
    removed."""

    JOINED = "joined"
    READY = "ready"
    LOST = "lost"
    REMOVED = "removed"


class LivenessTrigger(StrEnum):
    """Triggers of state changes."""

    HEARTBEAT = "heartbeat"
    SILENT = "silent"
    REMOVED = "removed"


class Drain(StrEnum):
    """Whether a worker accepts more work."""

    OPEN = "open"
    DRAINING = "draining"
    DRAINED = "drained"


class DrainTrigger(StrEnum):
    """Triggers of state changes."""

    DRAIN = "drain"
    EMPTIED = "emptied"
    UNDO = "undo"


_L, _H = Liveness, LivenessTrigger
LIVENESS = StateMachine(
    name="worker",
    initial=_L.JOINED,
    table={
        (_L.JOINED, _H.HEARTBEAT): _L.READY,
        (_L.JOINED, _H.SILENT): _L.LOST,
        (_L.READY, _H.SILENT): _L.LOST,
        (_L.LOST, _H.HEARTBEAT): _L.READY,
        (_L.JOINED, _H.REMOVED): _L.REMOVED,
        (_L.READY, _H.REMOVED): _L.REMOVED,
        (_L.LOST, _H.REMOVED): _L.REMOVED,
    },
    ignored={(_L.READY, _H.HEARTBEAT), (_L.LOST, _H.SILENT)},
    final={_L.REMOVED},
)
_D, _R = Drain, DrainTrigger
DRAIN = StateMachine(
    name="drain",
    initial=_D.OPEN,
    table={
        (_D.OPEN, _R.DRAIN): _D.DRAINING,
        (_D.DRAINING, _R.EMPTIED): _D.DRAINED,
        (_D.DRAINING, _R.UNDO): _D.OPEN,
        (_D.DRAINED, _R.UNDO): _D.OPEN,
    },
    ignored={
        (_D.DRAINING, _R.DRAIN),
        (_D.DRAINED, _R.DRAIN),
        (_D.OPEN, _R.UNDO),
        (_D.DRAINED, _R.EMPTIED),
        (_D.OPEN, _R.EMPTIED),
    },
)


class SlotHold(NamedTuple):
    """Slots that an allocation occupies, or a fraction of one. `tenant` None: an unknown allocation, which
    holds the entire worker."""

    tenant: TenantId | None
    slot_ids: tuple[int, ...]
    fraction: Thousandths = 0


class SharedSlot(NamedTuple):
    """What is left of a shared slot. `slot` below 0: opened by a plan, its number is not known yet."""

    slot: int
    tenant: TenantId
    left: Thousandths


Rooms = tuple[SharedSlot, ...]


@dataclass(slots=True)
class Taken:
    """What is taken of a worker: slots, the tenant that it serves, the number of runs without slots, and
    whether fractions of slots are taken."""

    slots: set[int] = field(default_factory=set)
    owner: TenantId | None = None
    auxiliary: int = 0
    has_fractions: bool = False

    def add(self, hold: SlotHold) -> None:
        """Add what an allocation occupies."""
        self.slots.update(hold.slot_ids)
        self.owner = self.owner or hold.tenant
        self.auxiliary += not hold.slot_ids
        self.has_fractions = self.has_fractions or hold.fraction > 0


@dataclass(slots=True)
class Worker:
    """One machine. Replaced when it changes, except for `held`, an index that only the cluster updates and that
    all versions share.

    Attributes:
        has_heartbeat: It has sent a heartbeat to this leader; nothing is granted before.
        disabled: Slots that accept no work.
        trouble: Why it cannot start runs now, as it reports.
        is_leaving: Its provider reclaims it; repeated with each heartbeat.
        has_private_network: Its runs have networks of their own; repeated with each heartbeat.
        machine: Equal for all workers of one host; None: not reported, it is taken to be the only one there.
        isolation: How its runs are isolated from each other; None: no heartbeat has reported it yet.
        isolation_detail: The limits of the isolation, in the worker's words.
    """

    id: WorkerId
    pool: PoolName
    kind: SlotKind | None = None
    slot_ids: tuple[int, ...] = ()
    address: str = ""
    labels: Labels = ()
    disabled: frozenset[int] = frozenset()
    liveness: Liveness = LIVENESS.initial
    drain: Drain = DRAIN.initial
    has_heartbeat: bool = False
    is_isolated: bool = False
    has_private_network: bool = False
    machine: MachineId | None = None
    isolation: Isolation | None = None
    isolation_detail: str = ""
    is_leaving: bool = False
    is_empty: bool = True
    trouble: str | None = None
    version: int = 0
    joined_at: datetime | None = None
    held: dict[AllocationId, SlotHold] = field(default_factory=dict)
    _taken: Taken | None = field(default=None, init=False, repr=False, compare=False)

    def hold(self, allocation: AllocationId, hold: SlotHold) -> None:
        """Occupy slots for an allocation."""
        if self._taken is not None and hold.tenant is not None and allocation not in self.held:
            self._taken.add(hold)
        else:
            self._taken = None
        self.held[allocation] = hold

    def release(self, allocation: AllocationId) -> bool:
        """Release what an allocation occupies; False: it occupied nothing."""
        self._taken = None
        return self.held.pop(allocation, None) is not None

    @property
    def is_open(self) -> bool:
        """Whether runs may be granted here."""
        is_well = self.has_heartbeat and self.liveness is Liveness.READY and not self.trouble
        return is_well and not self.is_emptying

    @property
    def is_emptying(self) -> bool:
        """Whether it is being emptied or is empty, by command, by the provisioner or because of a reclaim.
        Other services see it as drained."""
        return self.drain is not Drain.OPEN or self.is_leaving

    @property
    def used_slots(self) -> int:
        return len(self.taken().slots.intersection(self.slot_ids))

    @property
    def free_slot_ids(self) -> tuple[int, ...]:
        taken = self.taken().slots
        return tuple([slot for slot in self.usable_slot_ids if slot not in taken])

    @property
    def usable_slot_ids(self) -> tuple[int, ...]:
        """Slots that accept work, now or after their current run."""
        if not self.disabled:
            return self.slot_ids
        return tuple(slot for slot in self.slot_ids if slot not in self.disabled)

    def freed_by(self, hold: SlotHold) -> SlotHold:
        """Return what an allocation frees for others when it ends."""
        if not self.disabled:
            return hold
        return hold._replace(slot_ids=tuple(slot for slot in hold.slot_ids if slot not in self.disabled))

    @property
    def shared_slots(self) -> Rooms:
        """What is left of shared slots. The runs that share a slot belong to one tenant."""
        taken = self.taken()
        if not taken.has_fractions:
            return ()
        return tuple(room for slot in sorted(taken.slots - self.disabled) if (room := self._room(slot)))

    def taken(self) -> Taken:
        """Return what is taken. Cached: plans and grants read it."""
        if self._taken is None:
            self._taken = self._count_taken()
        return self._taken

    def _count_taken(self) -> Taken:
        taken = Taken()
        for hold in self.held.values():
            if hold.tenant is None:
                taken.slots.update(self.slot_ids)
            else:
                taken.add(hold)
        return taken

    def _room(self, slot: int) -> SharedSlot | None:
        holds = [hold for hold in self.held.values() if hold.tenant is None or slot in hold.slot_ids]
        tenant = holds[0].tenant
        if tenant is None or any(hold.tenant != tenant or not hold.fraction for hold in holds):
            return None
        return SharedSlot(slot, tenant, WHOLE_SLOT - sum(hold.fraction for hold in holds))

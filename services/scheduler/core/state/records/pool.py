"""A pool's policy: what its workers take in, and in which way."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from services.scheduler.core.state.records.labels import Labels
from shared.ids import PoolName
from shared.messages.specs import SlotKind

DEFAULT_PRIORITY = 42
DEFAULT_QUANTUM = timedelta(minutes=10)
FIRST_PRIORITY, LAST_PRIORITY = 1, 99

OrderName = Literal["fifo", "priority", "fair_share"]
PlacementRule = Literal["best_fit", "spread"]


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    """How a pool is scheduled. The defaults are those of a pool that nobody has configured (decision 0259).

    Attributes:
        kind: Kind of slot that its workers offer; None takes any.
        preemption: A waiting request may ask for slots of runs that stand below it (`preemption` says which do).
        exclusive: A worker serves one tenant at a time; only then may gangs span workers, because the
            ranks' rendezvous has no authentication.
        auxiliary_per_worker: How many runs without slots one worker takes.
        max_slots: What the pool can grow to (None: not known); requests above it can never be placed.
        provided_kind: Kind of slot that its provider's machines bring (None: not known).
        provided_labels: Labels that its provider's machines bring.
        is_closing: Its provider gives it up: it is no longer shown, and takes nothing, once it is empty.
        provider_fault: What keeps its provider from bringing more machines, for who waits for them.
        price_per_slot_hour: What its provider's machines cost (None: not known); told to searches, and what usage is reckoned with.
        order: Who goes first (`order/`).
        ageing: How long a request waits to count as one priority level more important; None: for ever (`priority` only).
        min_run: So long a run is not asked for its slots.
        max_preemptions: So often a trial is asked for its slots at most; None: whenever it must be.
        quantum: A run that has had its slots for so long, and has saved a checkpoint, yields them to a waiting request of equal right
            (`planning/preemption/equals`); None: to nobody.
        defragment: Runs are moved so that slots that are free in all come together for a waiting request (`planning/preemption/moves`).
        elastic: Idle slots are lent to runs that take more than their minimum (`elastic/`).
        topology: Label keys from narrow to wide, such as rack and zone: a gang stays within one domain where it can.
        placement: What fits on one machine gets the fullest that will do (`best_fit`), or the emptiest (`spread`).
        half_life: After this long, past use counts half (`fair_share` only).
    """

    name: PoolName
    kind: SlotKind | None = None
    preemption: bool = True
    exclusive: bool = True
    auxiliary_per_worker: int = 100
    default_priority: int = DEFAULT_PRIORITY
    max_slots: int | None = None
    max_slots_per_worker: int | None = None
    provided_kind: SlotKind | None = None
    order: OrderName = "fair_share"
    ageing: timedelta | None = None
    min_run: timedelta = timedelta(0)
    max_preemptions: int | None = None
    quantum: timedelta | None = DEFAULT_QUANTUM
    defragment: bool = False
    half_life: timedelta = timedelta(days=1)
    elastic: bool = True
    topology: tuple[str, ...] = ()
    placement: PlacementRule = "best_fit"
    provided_labels: Labels = ()
    price_per_slot_hour: float | None = None
    is_closing: bool = False
    provider_fault: str | None = None

    @property
    def takes_back(self) -> bool:
        """Whether a run may be asked for its slots."""
        return self.preemption or self.elastic or self.defragment or self.quantum is not None


@dataclass(frozen=True, slots=True)
class Quota:
    """What a tenant, or a workspace of one, may hold in a pool, in slots.

    Attributes:
        guaranteed: Its own: given back to it on demand, in pools with preemption. What it holds beyond is borrowed.
        maximum: Never more than this; None: whatever is free.
        weight: Its part among its siblings under `fair_share`.
    """

    guaranteed: int = 0
    maximum: int | None = None
    weight: float = 1.0


NO_QUOTA = Quota()

Path = tuple[object, ...]
"""Tenant, workspace, user, experiment; a beginning of it names a node. What names no workspace or user stands under the wish's defaults."""

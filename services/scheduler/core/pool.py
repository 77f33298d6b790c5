"""A pool's policy: what its workers take in, and in which way."""

from dataclasses import dataclass

from shared.ids import PoolName
from shared.messages.specs import SlotKind

DEFAULT_PRIORITY = 42
LOWEST_PRIORITY = 99


@dataclass(frozen=True, slots=True)
class PoolPolicy:
    """How a pool is scheduled.

    Attributes:
        kind: Kind of slot that its workers offer; None takes any.
        preemption: A waiting request may take the slots of less important runs.
        exclusive: A worker serves one tenant at a time; only then may gangs span workers, because the
            ranks' rendezvous has no authentication.
        auxiliary_per_worker: How many runs without slots one worker takes.
        max_slots: What the pool can grow to (None: not known); requests above it can never be placed.
    """

    name: PoolName
    kind: SlotKind | None = None
    preemption: bool = False
    exclusive: bool = True
    auxiliary_per_worker: int = 100
    default_priority: int = DEFAULT_PRIORITY
    max_slots: int | None = None
    max_slots_per_worker: int | None = None

"""The desired state of one allocation, as the core reads it."""

from dataclasses import dataclass

from muster.config.optimizations import Distributed
from shared.ids import AllocationId, RunId
from shared.messages.trial_specs import GangMember, Signal


@dataclass(frozen=True, slots=True)
class Desired:
    """One allocation of a desired set.

    Attributes:
        members: The gang in this generation.
        rendezvous: The rendezvous address; None: the chief has not opened it yet, or not all members are prepared.
        distributed: The launch backend; None: the allocation came without its spec, for a worker that already has it.
        hangs: Whether every member of the gang has reported that its ranks hang.
    """

    allocation_id: AllocationId
    run_id: RunId
    token: int
    generation: int
    members: tuple[GangMember, ...]
    signal: Signal = Signal.RUN
    decide_at: float | None = None
    rendezvous: str | None = None
    preemption_timeout_s: float = 3600.0
    distributed: Distributed | None = None
    hangs: bool = False

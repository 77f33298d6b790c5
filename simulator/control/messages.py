"""Messages between a leader and a machine, in the types of the scheduler's core."""

from dataclasses import dataclass

from services.scheduler.core.state.desired import DesiredRun
from services.scheduler.core.state.observed import ObservedState
from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class DesiredSet:
    """A desired set: everything that a worker should run, from the leader of `epoch`."""

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[DesiredRun, ...]


@dataclass(frozen=True, slots=True)
class ObservedSet:
    """An observed set of one process of a worker's daemon; `sequence` increases. `answers`: the desired set
    that it replies to."""

    state: ObservedState
    incarnation: int
    sequence: int
    answers: int | None = None

"""What passes between a leader and a machine, in the words of the scheduler's core."""

from dataclasses import dataclass

from services.scheduler.core.state.desired import DesiredRun
from services.scheduler.core.state.observed import ObservedState
from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class DesiredSet:
    """A desired set: everything that a worker should have, from the leader of `epoch`."""

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[DesiredRun, ...]


@dataclass(frozen=True, slots=True)
class ObservedSet:
    """An observed set of one life of a worker's daemon; `sequence` rises with each. `answers`: the desired set that it is the reply to."""

    heard: ObservedState
    incarnation: int
    sequence: int
    answers: int | None = None

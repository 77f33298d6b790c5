"""What passes between a leader and a machine, in the words of the scheduler's core."""

from dataclasses import dataclass

from services.scheduler.core.state.desired import Desired
from services.scheduler.core.state.observed import Heard
from shared.ids import WorkerId


@dataclass(frozen=True, slots=True)
class Orders:
    """A desired set: everything that a worker should have, from the leader of `epoch`."""

    worker: WorkerId
    epoch: int
    sequence: int
    allocations: tuple[Desired, ...]


@dataclass(frozen=True, slots=True)
class Sighting:
    """An observed set of one life of a worker's daemon; `sequence` rises with each. `answers`: the desired set that it is the reply to."""

    heard: Heard
    incarnation: int
    sequence: int
    answers: int | None = None

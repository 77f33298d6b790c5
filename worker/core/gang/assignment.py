"""A worker's ranks in a gang: in the current one, and in the one that is forming."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class RankAssignment:
    """This worker's ranks in the gang, from `first_rank` on; the chief is the member with index 0. `meets`: several ranks need a
    rendezvous."""

    index: int
    members: int
    first_rank: int
    ranks: int
    size: int
    meets: bool = True

    @property
    def is_gang(self) -> bool:
        """Whether its ranks must wait for the chief's rendezvous."""
        return self.meets and self.size > 1

    @property
    def is_chief(self) -> bool:
        """Whether this worker runs rank 0."""
        return self.index == 0


class FormationStep(StrEnum):
    """The progress of a formation on this worker: members prepare; all are prepared; the local ranks were notified to join or to leave."""

    PREPARING = "preparing"
    PREPARED = "prepared"
    NOTIFIED = "notified"


@dataclass(frozen=True, slots=True)
class Formation:
    """A gang that is forming. `assignment` None: this worker leaves it. `stands_by`: no local rank has joined any gang yet."""

    generation: int
    assignment: RankAssignment | None
    step: FormationStep = FormationStep.PREPARING
    stands_by: bool = False


@dataclass(frozen=True, slots=True)
class Gang:
    """This worker's ranks in the gang that trains, and the state of the next one.

    Attributes:
        generation: The newest generation that this worker knows.
        rendezvous: The rendezvous address: opened by the chief, or copied from the desired set.
        rendezvous_asked: Whether the chief has requested the rendezvous process.
        formation: The gang that its ranks form next; until then they train in the one of `assignment` (see `core/run/resize`).
    """

    generation: int
    assignment: RankAssignment
    rendezvous: str | None = None
    rendezvous_asked: bool = False
    formation: Formation | None = None

    @property
    def next_assignment(self) -> RankAssignment:
        """This worker's ranks in the gang that is forming, or else in the current one."""
        return self.formation.assignment if self.formation and self.formation.assignment else self.assignment

    @property
    def stands_by(self) -> bool:
        """Whether its local ranks were started to join a gang that already trains, and have not joined yet."""
        return self.formation is not None and self.formation.stands_by

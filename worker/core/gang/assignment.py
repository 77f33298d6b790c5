"""A worker's part of a gang: of the one there is, and of one that is being formed."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class RankAssignment:
    """This worker's part of the gang: its ranks are `first_rank …`; the chief is the member with index 0. `meets`: several ranks need a
    rendezvous."""

    index: int
    members: int
    first_rank: int
    ranks: int
    size: int
    meets: bool = True

    @property
    def is_gang(self) -> bool:
        """Whether its ranks start only when the chief holds their rendezvous."""
        return self.meets and self.size > 1

    @property
    def is_chief(self) -> bool:
        """Whether rank 0 runs here."""
        return self.index == 0


class FormationStep(StrEnum):
    """How far a formation is here: its members prepare; all are prepared; the ranks here were told to join or to leave."""

    PREPARING = "preparing"
    PREPARED = "prepared"
    NOTIFIED = "told"


@dataclass(frozen=True, slots=True)
class Formation:
    """A gang that is to be formed. `assignment` None: without this worker. `stands_by`: no rank here has joined any gang before."""

    generation: int
    assignment: RankAssignment | None
    step: FormationStep = FormationStep.PREPARING
    stands_by: bool = False


@dataclass(frozen=True, slots=True)
class Gang:
    """This worker's part of the gang that trains, and what is known of the next one.

    Attributes:
        generation: Of the newest members that this worker has heard of.
        rendezvous: Where its ranks meet: opened here by the chief, else copied from the desired set.
        rendezvous_asked: Whether the chief has asked for it.
        formation: The gang that its ranks are to form next, while they train in the one that `assignment` belongs to (see `core/run/resize`).
    """

    generation: int
    assignment: RankAssignment
    rendezvous: str | None = None
    rendezvous_asked: bool = False
    formation: Formation | None = None

    @property
    def next_assignment(self) -> RankAssignment:
        """This worker's part of the gang that is being formed, or else of the one there is."""
        return self.formation.assignment if self.formation and self.formation.assignment else self.assignment

    @property
    def stands_by(self) -> bool:
        """Whether its ranks here were started to join a gang that trains already, and have not."""
        return self.formation is not None and self.formation.stands_by

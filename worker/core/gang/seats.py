"""A worker's part of a gang: of the one there is, and of one that is being formed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seat:
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


@dataclass(frozen=True, slots=True)
class Formation:
    """A gang that is to be formed. `seat` None: without this worker. `may_go`: all members are prepared; `is_told`: so have the
    ranks here been told."""

    generation: int
    seat: Seat | None
    may_go: bool = False
    is_told: bool = False

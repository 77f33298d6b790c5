"""What can be done about a run. Neighbours: `plan` says when, `runs/actions` does it."""

from dataclasses import dataclass

from shared.messages.specs import Signal


@dataclass(frozen=True, slots=True)
class Decide:
    """Tell the ranks when the searcher decides next."""

    signal: Signal
    decide_at: float | None


@dataclass(frozen=True, slots=True)
class Conclude:
    """It has ended here: take its last lines and reports, and leave no process of it."""


@dataclass(frozen=True, slots=True)
class OpenRendezvous:
    """Hold the gang's rendezvous."""


@dataclass(frozen=True, slots=True)
class StartRanks:
    """Fork this worker's ranks."""


@dataclass(frozen=True, slots=True)
class StartStandbyRanks:
    """Start the local ranks from `first` on; they stand by."""

    first: int


@dataclass(frozen=True, slots=True)
class SendAssignments:
    """Tell every local rank to join the formation, or to leave."""


@dataclass(frozen=True, slots=True)
class CloseRendezvous:
    """The gang has formed anew: end the rendezvous of those before it."""


@dataclass(frozen=True, slots=True)
class SendSignal:
    """Tell the ranks what is asked of them."""

    signal: Signal


@dataclass(frozen=True, slots=True)
class KillRanks:
    """End every process of the run at once."""


@dataclass(frozen=True, slots=True)
class Forget:
    """It has ended and nobody asks for it any more."""


Action = (
    Decide
    | Conclude
    | OpenRendezvous
    | StartRanks
    | StartStandbyRanks
    | SendAssignments
    | CloseRendezvous
    | SendSignal
    | KillRanks
    | Forget
)

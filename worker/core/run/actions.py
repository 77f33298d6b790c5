"""Actions on a run. Neighbours: `plan` decides when, `runs/actions` executes them."""

from dataclasses import dataclass

from shared.messages.trial_specs import Signal


@dataclass(frozen=True, slots=True)
class Decide:
    """Tell the ranks the time of the searcher's next decision."""

    signal: Signal
    decide_at: float | None


@dataclass(frozen=True, slots=True)
class Conclude:
    """Finish a run that has ended here: take its last log lines and reports, and kill remaining processes."""


@dataclass(frozen=True, slots=True)
class OpenRendezvous:
    """Start the gang's rendezvous process."""


@dataclass(frozen=True, slots=True)
class StartRanks:
    """Fork this worker's ranks."""


@dataclass(frozen=True, slots=True)
class StartStandbyRanks:
    """Start the local ranks from `first` on, on standby."""

    first: int


@dataclass(frozen=True, slots=True)
class SendAssignments:
    """Send every local rank its assignment in the forming gang, or the request to leave."""


@dataclass(frozen=True, slots=True)
class CloseRendezvous:
    """End the rendezvous of the previous generation after the gang has re-formed."""


@dataclass(frozen=True, slots=True)
class SendSignal:
    """Send the ranks a signal."""

    signal: Signal


@dataclass(frozen=True, slots=True)
class KillRanks:
    """Kill every process of the run."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Drop a run that has ended and that the scheduler no longer lists."""


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

"""What happens to a trial elsewhere, as reducers take it. A stored validation is a `Result`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport, TrialCheckpoint


@dataclass(frozen=True, slots=True)
class RunSlots:
    """A run has been granted, or has other slots; `holding` None: its slots are not known."""

    trial: int
    run: int
    holding: SlotUsage | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run has ended; `is_requeued`: the scheduler starts the trial again by itself."""

    trial: int
    ended: RunEndReport
    is_requeued: bool
    holding: SlotUsage | None = None


@dataclass(frozen=True, slots=True)
class RequestEnd:
    """A trial's request number `request` is closed for good."""

    trial: int
    request: int
    closed: ClosedRequest


@dataclass(frozen=True, slots=True)
class CheckpointNews:
    """An announced checkpoint is saved or given up, or a saved one is no good after all."""

    trial: int
    checkpoint: TrialCheckpoint


@dataclass(frozen=True, slots=True)
class UploadDelay:
    """What an ended run announced is not stored yet, for this reason."""

    trial: int
    run: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rollback:
    """A run goes on from `step`; `standing`: validations before it that still count, as steps and values."""

    trial: int
    run: int
    step: int
    standing: Sequence[tuple[int, Mapping[str, float]]]

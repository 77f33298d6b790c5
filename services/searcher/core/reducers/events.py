"""Events of trials that reducers take. A stored validation is a `Result`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport, TrialCheckpoint


@dataclass(frozen=True, slots=True)
class RunSlots:
    """A run was granted or resized. `holding` is None if its slots are unknown."""

    trial: int
    run: int
    holding: SlotUsage | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run ended. `is_requeued` means that the scheduler starts the trial again by itself."""

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
class CheckpointReport:
    """An announced checkpoint was saved or abandoned, or a saved one is corrupt."""

    trial: int
    checkpoint: TrialCheckpoint


@dataclass(frozen=True, slots=True)
class UploadDelay:
    """Why something that an ended run announced is not stored yet."""

    trial: int
    run: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rollback:
    """A run resumes from `step`. `valid` are the earlier validations that still count, as steps and values."""

    trial: int
    run: int
    step: int
    valid: Sequence[tuple[int, Mapping[str, float]]]

"""Timeline of a run on its machine: reported by its worker when each phase ends, and stored with the run."""

from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import RunId, TrialId
from shared.messages.base import Query, Record, WorkerRequest

PhaseKind = Literal[
    "prepare",
    "fetch_code",
    "make_environment",
    "pull_image",
    "restore_checkpoint",
    "start",
    "first_step",
    "write_checkpoint",
    "upload_checkpoint",
]
"""The four kinds after `prepare` are parts of it."""
REASON_CHARACTERS = 300
IMAGE_CHARACTERS = 1024
_LAST_MS = 253_402_300_799_999
"""End of the year 9999."""


class PhaseRecord(Record):
    """One phase of a run. Times are the worker's wall clock, for display only.

    `number` and `step` are those of a checkpoint; `number` is 0 for phases that occur once per run. `waits_for`: an upload failed and is being
    retried; this is the reason, as of `ended_ms`. `image`: of `pull_image`, the image's name with its digest.
    """

    kind: PhaseKind
    number: int = Field(default=0, ge=0, lt=2**31)
    step: int | None = Field(default=None, ge=0, lt=2**63)
    began_ms: int = Field(ge=0, le=_LAST_MS)
    ended_ms: int = Field(ge=0, le=_LAST_MS)
    waits_for: str | None = Field(default=None, max_length=REASON_CHARACTERS)
    image: str | None = Field(default=None, max_length=IMAGE_CHARACTERS)


class PhasesStored(BaseModel):
    """The phases are stored, or need not be."""


class ReportPhases(WorkerRequest[PhasesStored], family="rpt", owner="registry", kind="phases"):
    """worker → registry: phases of a run. Idempotent. Only those from the worker of rank 0 are stored."""

    run_id: RunId
    phases: tuple[PhaseRecord, ...] = Field(max_length=100)


class RunPhases(Record):
    run_number: int
    phases: tuple[PhaseRecord, ...]


class TrialPhases(Record):
    """Phases by run. Runs without reported phases are left out."""

    trial_id: TrialId
    runs: tuple[RunPhases, ...]


class PhasesByTrials(BaseModel):
    trials: tuple[TrialPhases, ...]


class GetPhases(Query[PhasesByTrials], owner="registry", name="phases"):
    """Return the phases of these trials' runs, in the order requested. An unknown trial has none."""

    trials: tuple[TrialId, ...]

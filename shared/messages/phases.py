"""What a run did when on its machine: told by its worker once it is over, kept beside the run, shown along time."""

from typing import Literal

from pydantic import BaseModel, Field

from shared.ids import RunId, TrialId
from shared.messages.base import Query, Record, WorkerRequest

PhaseKind = Literal[
    "prepare",
    "fetch_code",
    "make_environment",
    "restore_checkpoint",
    "start",
    "first_step",
    "write_checkpoint",
    "upload_checkpoint",
]
"""The three behind `prepare` lie within it."""
REASON_CHARACTERS = 300
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""


class PhaseRecord(Record):
    """`number` and `step` are a checkpoint's; the number is 0 of what a run does once. Times are the worker's wall clock, for display only.

    `waits_for`: an upload that fails and is tried again is not over: this is why, as of `ended_ms`.
    """

    kind: PhaseKind
    number: int = Field(default=0, ge=0, lt=2**31)
    step: int | None = Field(default=None, ge=0, lt=2**63)
    began_ms: int = Field(ge=0, le=_LAST_MS)
    ended_ms: int = Field(ge=0, le=_LAST_MS)
    waits_for: str | None = Field(default=None, max_length=REASON_CHARACTERS)


class PhasesStored(BaseModel):
    """They are kept, or need not be."""


class ReportPhases(WorkerRequest[PhasesStored], family="rpt", owner="registry", kind="phases"):
    """worker → registry. The same again changes nothing; those of rank 0's worker count."""

    run_id: RunId
    phases: tuple[PhaseRecord, ...] = Field(max_length=100)


class RunPhases(Record):
    run_number: int
    phases: tuple[PhaseRecord, ...]


class TrialPhases(Record):
    """By run; what a run has not told is not there."""

    trial_id: TrialId
    runs: tuple[RunPhases, ...]


class PhasesByTrials(BaseModel):
    trials: tuple[TrialPhases, ...]


class GetPhases(Query[PhasesByTrials], owner="registry", name="phases"):
    """What the runs of these trials did, in the order asked; an unknown trial has none."""

    trials: tuple[TrialId, ...]

"""Reports: what a worker journals and sends, and what becomes of a validation."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from shared.ids import ExperimentId, RunId, TrialId, WorkerId
from shared.messages.base import Event, Record, WorkerRequest


class Report(Record):
    """Points of one metric group at one step. Step counts what the user counts; time is the worker's wall clock, for display only."""

    kind: Literal["report"] = "report"
    group: str = "training"
    step: int
    time_ms: int
    values: dict[str, float]


class Validation(Record):
    """A validation: `number` counts the run's from 1 without gaps. The searcher's only source of results is what becomes of it."""

    kind: Literal["validation"] = "validation"
    number: int
    step: int
    time_ms: int
    values: dict[str, float]


class LogLine(Record):
    kind: Literal["log"] = "log"
    rank: int
    stream: Literal["stdout", "stderr", "platform"]
    level: Literal["debug", "info", "warning", "error"] | None = None
    time_ms: int
    text: str


JournalRecord = Annotated[Report | Validation | LogLine, Field(discriminator="kind")]


class Mark(BaseModel):
    """The registry's committed mark of a source: the next number it expects. `retry_after_s`: nothing was stored, try again then."""

    next: int
    retry_after_s: float | None = None
    refused: str | None = None


class ReportBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="reports"):
    """worker → registry. Records `first …` of one source (this worker's journal of the run, one of three streams), at most 512 KiB."""

    run_id: RunId
    stream: Literal["reports"] = "reports"
    first: int
    records: tuple[JournalRecord, ...]
    traceparent: str | None = None


class LogBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="logs"):
    run_id: RunId
    stream: Literal["logs"] = "logs"
    first: int
    records: tuple[LogLine, ...]


class ProfileBatch(WorkerRequest[Mark], family="rpt", owner="registry", kind="profile"):
    """worker → registry. What a worker has measured of a run on its machine, in a journal of its own: it holds up no report of the run."""

    run_id: RunId
    stream: Literal["profile"] = "profile"
    first: int
    records: tuple[Report, ...]


class ValidationStored(Event, entity="validation", happened="stored"):
    """registry → searcher, written in the transaction that stores the report. `worker` is where the verdict goes; `stale`: no rung may count it."""

    trial_id: TrialId
    experiment_id: ExperimentId
    run_id: RunId
    run_number: int
    token: int
    version: int
    number: int
    step: int
    values: dict[str, float]
    worker: WorkerId
    stale: bool = False

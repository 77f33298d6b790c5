"""Reports, logs, checkpoints and models: what workers send, and what the registry owns."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import (
    CheckpointId,
    ExperimentId,
    ModelId,
    RunId,
    TrialId,
    VersionId,
    WorkerId,
)
from shared.messages.base import Command, Event, Query, Record, WorkerRequest

Stream = Literal["reports", "logs"]
CheckpointState = Literal["uploading", "saved", "abandoned", "corrupt", "deleted"]


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
    """worker → registry. Records `first …` of one source (this worker's journal of the run, one of two streams), at most 512 KiB."""

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


class FileEntry(Record):
    """A file of a checkpoint or archive: relative path with forward slashes, no `..`, no links."""

    path: str
    size_bytes: int
    sha256: str


class FileLink(FileEntry):
    """A file with a URL signed for one method and a short life."""

    url: str


class CodeLink(BaseModel):
    sha256: str
    size_bytes: int
    url: str


class GetCode(WorkerRequest[CodeLink], owner="registry", kind="code"):
    run_id: RunId


class Restored(BaseModel):
    checkpoint_id: CheckpointId | None = None
    step: int = 0
    files: tuple[FileLink, ...] = ()


class Restore(WorkerRequest[Restored], owner="registry", kind="restore"):
    """The newest good checkpoint of the run's trial (else its start checkpoint); from its step on, older runs' points are superseded."""

    run_id: RunId


class UploadLinks(BaseModel):
    files: tuple[FileLink, ...]
    state: CheckpointState = "uploading"


class Upload(WorkerRequest[UploadLinks], owner="registry", kind="upload"):
    """Announces a checkpoint and asks for one signed PUT per file. Repeating it repeats the answer with fresh signatures."""

    run_id: RunId
    checkpoint_id: CheckpointId
    number: int
    step: int
    files: tuple[FileEntry, ...]


class Committed(BaseModel):
    state: CheckpointState
    retry_after_s: float | None = None
    reason: str | None = None


class CommitCheckpoint(WorkerRequest[Committed], owner="registry", kind="commit"):
    """The manifest: commits when the reports mark has reached `after_report` and every object has its size and hash."""

    run_id: RunId
    checkpoint_id: CheckpointId
    after_report: int
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


class CheckpointEvent(Event):
    checkpoint_id: CheckpointId
    trial_id: TrialId
    experiment_id: ExperimentId
    run_id: RunId
    run_number: int
    token: int
    version: int
    number: int
    step: int
    state: CheckpointState
    files: int
    size_bytes: int
    created_at: datetime
    reason: str | None = None


class CheckpointSaved(CheckpointEvent, entity="checkpoint", happened="saved"):
    """registry → searcher, scheduler, gateway: its manifest is committed; it can be restored from."""


class CheckpointAbandoned(CheckpointEvent, entity="checkpoint", happened="abandoned"):
    """It was announced and will never be committed."""


class CheckpointCorrupt(CheckpointEvent, entity="checkpoint", happened="corrupt"):
    """What is stored is not what was announced; it is never restored from."""


class CheckpointDeleted(CheckpointEvent, entity="checkpoint", happened="deleted"):
    """Collected by the retention rule or by a person."""


class CreateModel(Command, owner="registry", verb="create_model"):
    model_id: ModelId
    name: str
    description: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class CreateVersion(Command, owner="registry", verb="create_version"):
    version_id: VersionId
    model_id: ModelId
    checkpoint_id: CheckpointId
    name: str = ""
    comment: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    by: str


class ModelChanged(Event, entity="model", happened="changed"):
    model_id: ModelId
    version: int
    name: str
    description: str
    metadata: dict[str, JsonValue]
    versions: int
    aliases: dict[str, int] = Field(default_factory=dict)
    created_at: datetime
    by: str
    operation_id: UUID | None = None


class Lineage(Record):
    """Where a model version comes from."""

    experiment_id: ExperimentId
    trial_id: TrialId
    run_id: RunId
    checkpoint_id: CheckpointId
    step: int
    code_hash: str | None
    hyperparameters: dict[str, JsonValue]
    metrics: dict[str, float]


class VersionChanged(Event, entity="version", happened="changed"):
    version_id: VersionId
    model_id: ModelId
    model_name: str
    version: int
    number: int
    checkpoint_id: CheckpointId
    name: str
    comment: str
    metadata: dict[str, JsonValue]
    lineage: Lineage
    files: int
    size_bytes: int
    created_at: datetime
    by: str
    operation_id: UUID | None = None


class UploadTarget(BaseModel):
    """`known`: nothing needs to be sent. Otherwise PUT the bytes to `url`, then confirm."""

    known: bool
    url: str | None = None


class GetUploadUrl(Query[UploadTarget], owner="registry", name="upload_url"):
    """Where a content-addressed artifact of the tenant goes (`code`: the deterministic archive of a model folder)."""

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int


class Confirmed(BaseModel):
    sha256: str
    size_bytes: int


class ConfirmUpload(Query[Confirmed], owner="registry", name="confirm_upload"):
    """The registry reads what was sent, and keeps it when size and hash are right; otherwise Rejected. Repeatable."""

    kind: Literal["code"] = "code"
    sha256: str
    size_bytes: int


class Point(Record):
    step: int
    time_ms: int
    value: float
    run_number: int = 1


class Series(Record):
    group: str
    name: str
    count: int
    points: tuple[Point, ...]


class SeriesPage(BaseModel):
    trial_id: TrialId
    series: tuple[Series, ...]


class GetSeries(Query[SeriesPage], owner="registry", name="series"):
    """A trial's metrics by step, superseded points left out; `max_points` down-samples each series by LTTB."""

    trial_id: TrialId
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int | None = 1000


class SeriesPages(BaseModel):
    trials: tuple[SeriesPage, ...]


class CompareTrials(Query[SeriesPages], owner="registry", name="compare"):
    trials: tuple[TrialId, ...]
    group: str | None = None
    names: tuple[str, ...] = ()
    max_points: int = 200


class StoredLine(Record):
    cursor: int
    run_number: int
    rank: int
    stream: str
    level: str | None = None
    time_ms: int
    text: str


class LogPage(BaseModel):
    """`next` is the cursor after the last line given; `ended` says that no more can come."""

    lines: tuple[StoredLine, ...]
    next: int
    ended: bool = False


class GetLogs(Query[LogPage], owner="registry", name="logs"):
    trial_id: TrialId
    after: int = 0
    limit: int = 1000
    rank: int | None = None
    run_number: int | None = None
    contains: str | None = None
    tail: int | None = None


class CheckpointView(Record):
    checkpoint_id: CheckpointId
    trial_id: TrialId
    experiment_id: ExperimentId
    run_number: int
    step: int
    state: CheckpointState
    files: tuple[FileEntry, ...]
    size_bytes: int
    metrics: dict[str, float] = Field(default_factory=dict)
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    created_at: datetime
    reason: str | None = None


class CheckpointPage(BaseModel):
    checkpoints: tuple[CheckpointView, ...]
    next: str | None = None


class ListCheckpoints(Query[CheckpointPage], owner="registry", name="checkpoints"):
    trial_id: TrialId | None = None
    experiment_id: ExperimentId | None = None
    checkpoint_id: CheckpointId | None = None
    after: str | None = None
    limit: int = 100


class FileLinks(BaseModel):
    checkpoint_id: CheckpointId
    step: int
    files: tuple[FileLink, ...]


class GetCheckpointFiles(Query[FileLinks], owner="registry", name="checkpoint_files"):
    checkpoint_id: CheckpointId


class GetLineage(Query[Lineage], owner="registry", name="lineage"):
    version_id: VersionId


class TrialSummary(Record):
    """Kept current while points arrive: one row a metric."""

    group: str
    name: str
    count: int
    min: float
    max: float
    mean: float
    last: float
    last_step: int


class TrialSummaries(BaseModel):
    trial_id: TrialId
    metrics: tuple[TrialSummary, ...]


class GetSummaries(Query[TrialSummaries], owner="registry", name="summaries"):
    trial_id: TrialId

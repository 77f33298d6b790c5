"""Checkpoints: announced, uploaded, committed, restored from, collected."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.base import Event, Query, Record, WorkerRequest
from shared.messages.files import FileEntry, FileLink

CheckpointState = Literal["uploading", "saved", "abandoned", "corrupt", "deleted"]


class Restored(BaseModel):
    """`best`: the searcher's metric at its best in what the run goes on from of its trial. `next`: the `first` behind these files."""

    checkpoint_id: CheckpointId | None = None
    step: int = 0
    files: tuple[FileLink, ...] = ()
    best: float | None = None
    next: int | None = None


class DamagedFile(BaseModel):
    """A file of a checkpoint that came with other bytes than its manifest says, or not at all."""

    checkpoint_id: CheckpointId
    path: str


class Restore(WorkerRequest[Restored], owner="registry", kind="restore"):
    """The newest good checkpoint of the run's trial (else its start checkpoint); from its step on, older runs' points are superseded.

    `damaged`: why the one answered before could not be used. The registry reads the file itself; if it is spoilt, that checkpoint is
    corrupt, and the answer is the one before it. `first`: of the files, from which on, as many as an answer holds; None: all, at once.
    """

    run_id: RunId
    damaged: DamagedFile | None = None
    first: int | None = None


class UploadLinks(BaseModel):
    """Where to send the files. What the tenant has already, under whatever name, is left out: it need not be sent.

    `next`: the `first` behind these; None: there are no more. Of a file in parts an answer may hold some of them.
    """

    files: tuple[FileLink, ...]
    state: CheckpointState = "uploading"
    reason: str | None = None
    next: int | None = None


class ManifestPage(Record):
    """Some of a worker's files of a checkpoint; `parts` as in `Upload`."""

    files: tuple[FileEntry, ...]
    parts: tuple[WorkerId, ...] = ()


class Upload(WorkerRequest[UploadLinks], owner="registry", kind="upload"):
    """Announces a checkpoint and asks for one signed PUT per file. Repeating it repeats the answer with fresh signatures.

    Where several workers of a gang hold its files, each announces and commits its own; `parts` names them all, and the checkpoint is
    committed with the last part. `takes_headers`: the worker sends the headers that a link names, and
    a large file in the parts that it names. `first`: from which request on, all files' and their parts' counted in the order of the
    manifest, as many as an answer holds; None: all, at once. `page`: of files that are more than a message holds some, in place of `files` and
    `parts`; they are added to those that were sent before, links are to them alone, and the commit says how many there are in all.
    `given_up`: why the worker cannot upload it; the checkpoint is abandoned for that reason.
    """

    run_id: RunId
    checkpoint_id: CheckpointId
    number: int
    step: int
    files: tuple[FileEntry, ...]
    parts: tuple[WorkerId, ...] = ()
    takes_headers: bool = False
    first: int | None = None
    page: ManifestPage | None = None
    given_up: str | None = None


class Committed(BaseModel):
    state: CheckpointState
    retry_after_s: float | None = None
    reason: str | None = None


class CommitCheckpoint(WorkerRequest[Committed], owner="registry", kind="commit"):
    """The manifest: commits when the reports mark has reached `after_report` and every object has its size and hash.

    `files`: how many the worker has announced, in pages; None: they were announced as one.
    """

    run_id: RunId
    checkpoint_id: CheckpointId
    after_report: int
    files: int | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


MOST_AT_ONCE = 16
"""Checkpoints in one message. They are small: a page of a manifest, or of links, goes alone."""


class UploadLinksOfMany(BaseModel):
    """By checkpoint, in the order asked."""

    answers: tuple[UploadLinks, ...]


class UploadMany(WorkerRequest[UploadLinksOfMany], owner="registry", kind="upload_many"):
    """Several checkpoints of one run announced at once, each as by `Upload`; where one is refused with an error all are."""

    run_id: RunId
    uploads: tuple[Upload, ...] = Field(min_length=1, max_length=MOST_AT_ONCE)


class CommittedMany(BaseModel):
    """By checkpoint, in the order asked."""

    answers: tuple[Committed, ...]


class CommitMany(WorkerRequest[CommittedMany], owner="registry", kind="commit_many"):
    """Several manifests of one run at once, in their order, each as by `CommitCheckpoint`; where one is refused with an error all are."""

    run_id: RunId
    commits: tuple[CommitCheckpoint, ...] = Field(min_length=1, max_length=MOST_AT_ONCE)


class CheckpointEvent(Event, key="checkpoint_id"):
    """`settles`: until now it was awaited, neither saved nor given up: each announced checkpoint has one such event."""

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
    settles: bool = True


class CheckpointSaved(CheckpointEvent, entity="checkpoint", happened="saved"):
    """registry → searcher, scheduler, gateway: its manifest is committed; it can be restored from."""


class CheckpointAbandoned(CheckpointEvent, entity="checkpoint", happened="abandoned"):
    """It was announced and will never be committed."""


class CheckpointCorrupt(CheckpointEvent, entity="checkpoint", happened="corrupt"):
    """What is stored is not what was announced; it is never restored from."""


class CheckpointDeleted(CheckpointEvent, entity="checkpoint", happened="deleted"):
    """Collected by the retention rule or by a person."""


class UploadsDelayed(Event, entity="checkpoint", happened="delayed"):
    """registry → searcher: an ended run has checkpoints that are neither saved nor abandoned, and why. Sent again when the reason changes."""

    run_id: RunId
    trial_id: TrialId
    experiment_id: ExperimentId
    run_number: int
    pending: int
    reason: str


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
    verified_at: datetime | None = None
    """When the file of it that was not read for longest was read and found to be what it was."""


class CheckpointPage(BaseModel):
    checkpoints: tuple[CheckpointView, ...]
    next: str | None = None


class CheckpointFields(Record):
    """By what lists of checkpoints are filtered and sorted, under the names that people are shown."""

    id: UUID
    trial: UUID
    run: int
    step: int
    state: CheckpointState
    size_bytes: int
    files: int
    reason: str | None
    created_at: datetime


class ListCheckpoints(Query[CheckpointPage], owner="registry", name="checkpoints"):
    """`filter` and `sort` speak of `CheckpointFields`; without them they come in the order of their making."""

    trial_id: TrialId | None = None
    experiment_id: ExperimentId | None = None
    checkpoint_id: CheckpointId | None = None
    after: str | None = None
    limit: int = 100
    filter: str = ""
    sort: str = ""


class FileLinks(BaseModel):
    """`next`: the `first` behind these files; None: there are no more."""

    checkpoint_id: CheckpointId
    step: int
    files: tuple[FileLink, ...]
    next: int | None = None


class GetCheckpointFiles(Query[FileLinks], owner="registry", name="checkpoint_files"):
    """`first`: from which file on, as many as an answer holds; None: all, at once."""

    checkpoint_id: CheckpointId
    first: int | None = None


class EditCheckpoint(Query[CheckpointView], owner="registry", name="edit_checkpoint"):
    """Metadata by its top-level keys: what is given replaces what was there, null takes it away."""

    checkpoint_id: CheckpointId
    metadata: dict[str, JsonValue]


class VerificationRequested(BaseModel):
    """How much is read now, each file once however many checkpoints share it."""

    checkpoints: int
    files: int
    size_bytes: int


class VerifyCheckpoints(Query[VerificationRequested], owner="registry", name="verify_checkpoints"):
    """Have the files of one saved checkpoint, or of all of an experiment, read and compared; `verified_at` or state `corrupt` tells the outcome.

    `is_waiting`: ask for nothing, only say how much of what was asked for an experiment is still to be read.
    """

    checkpoint_id: CheckpointId | None = None
    experiment_id: ExperimentId | None = None
    is_waiting: bool = False


class DeleteCheckpoint(Query[CheckpointView], owner="registry", name="delete_checkpoint"):
    """By a person's word; refused with the reason for what is registered, in use, or not settled yet."""

    checkpoint_id: CheckpointId


class CheckpointRetention(Record):
    """How many checkpoints survive collection; the three sets are united."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Record):
    checkpoint_id: CheckpointId
    trial_id: TrialId
    step: int
    size_bytes: int


class Collected(BaseModel):
    """`checkpoints` are the first of the `count` that go; `size_bytes` is theirs, `freed_bytes` what no other checkpoint holds."""

    policy: CheckpointRetention
    dry_run: bool
    count: int
    size_bytes: int
    freed_bytes: int
    checkpoints: tuple[CollectedCheckpoint, ...] = ()
    kept: dict[str, int] = Field(default_factory=dict)


class CollectCheckpoints(Query[Collected], owner="registry", name="collect_checkpoints"):
    """Have an experiment's checkpoints go that its rule does not keep, at once, also while it runs; a dry run only says which.

    Counts that are given stand in place of the config's from now on (in a dry run: are tried).
    """

    experiment_id: ExperimentId
    dry_run: bool = False
    save_experiment_best: int | None = None
    save_trial_best: int | None = None
    save_trial_latest: int | None = None


class WorkspaceUse(Record):
    """A workspace's bytes: what checkpoints of its experiments hold, each content once, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = None


class StorageUse(BaseModel):
    """A tenant's bytes in the store, each content once; no maximum bounds nothing.

    `workspaces`: by name, those with bytes or a maximum; what several hold counts in each, so that they may add up to more than the tenant's.
    """

    used_bytes: int
    maximum_bytes: int | None = None
    workspaces: tuple[WorkspaceUse, ...] = ()


class GetStorage(Query[StorageUse], owner="registry", name="storage"):
    """How much the tenant stores, and each of its workspaces."""

"""Checkpoints: announce, upload, commit, restore, collect."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field, JsonValue

from shared.ids import CheckpointId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.base import Event, Query, Record, WorkerRequest
from shared.messages.files import FileEntry, FileLink

CheckpointState = Literal["uploading", "saved", "abandoned", "corrupt", "deleted"]


class Restored(BaseModel):
    """The checkpoint to resume from.

    `best`: best value of the searcher's metric among the trial's validations that still count. `next`: value of `first` for the next page
    of files.
    """

    checkpoint_id: CheckpointId | None = None
    step: int = 0
    files: tuple[FileLink, ...] = ()
    best: float | None = None
    next: int | None = None


class DamagedFile(BaseModel):
    """A checkpoint file whose download was missing or did not match the manifest."""

    checkpoint_id: CheckpointId
    path: str


class Restore(WorkerRequest[Restored], owner="registry", kind="restore"):
    """Return the newest good checkpoint of the run's trial, else its start checkpoint.

    From that checkpoint's step on, points of older runs are superseded. `damaged`: why the previous answer could not be used. The registry
    then reads the file itself; if it is damaged, that checkpoint becomes corrupt and the answer is the one before it. `first`: index of the
    first file to return, as many as fit into a reply; None returns all at once.
    """

    run_id: RunId
    damaged: DamagedFile | None = None
    first: int | None = None


class UploadLinks(BaseModel):
    """Presigned URLs for the files to upload. Files whose content the tenant already stores are left out.

    `next`: value of `first` for the next page; None on the last page. A page may hold only some parts of a file.
    """

    files: tuple[FileLink, ...]
    state: CheckpointState = "uploading"
    reason: str | None = None
    next: int | None = None


class ManifestPage(Record):
    """A page of one worker's files of a checkpoint; `parts` as in `Upload`."""

    files: tuple[FileEntry, ...]
    parts: tuple[WorkerId, ...] = ()


class Upload(WorkerRequest[UploadLinks], owner="registry", kind="upload"):
    """Announce a checkpoint and request a signed PUT per file. Repeating the request returns the same answer with fresh signatures.

    If several workers of a gang hold its files, each announces and commits its own. `parts` lists all of these workers, and the checkpoint is
    committed with the last of them.

    Attributes:
        takes_headers: The worker sends the headers that a link names, and splits a large file into the parts that it names.
        first: Index of the first upload request to return, counting all files and their parts in manifest order, as many as fit into a reply;
            None returns all at once.
        page: A page of a manifest that is too large for one message, instead of `files` and `parts`. The files are added to those of earlier
            pages, and the reply has links for this page only. The commit states the total number of files.
        given_up: Why the worker cannot upload the checkpoint. The registry abandons it with this reason.
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
    """Commit a manifest once the reports up to `after_report` are stored and every object has its size and hash.

    `files`: number of files that the worker announced in pages; None if it announced them in one message.
    """

    run_id: RunId
    checkpoint_id: CheckpointId
    after_report: int
    files: int | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


MOST_AT_ONCE = 16
"""Checkpoints per message. Only small ones are batched: a page of a manifest or of links is sent alone."""


class UploadLinksOfMany(BaseModel):
    """One answer per checkpoint, in the order requested."""

    answers: tuple[UploadLinks, ...]


class UploadMany(WorkerRequest[UploadLinksOfMany], owner="registry", kind="upload_many"):
    """Announce several checkpoints of one run, each as with `Upload`. If one fails with an error, all fail."""

    run_id: RunId
    uploads: tuple[Upload, ...] = Field(min_length=1, max_length=MOST_AT_ONCE)


class CommittedMany(BaseModel):
    """One answer per checkpoint, in the order requested."""

    answers: tuple[Committed, ...]


class CommitMany(WorkerRequest[CommittedMany], owner="registry", kind="commit_many"):
    """Commit several manifests of one run in order, each as with `CommitCheckpoint`. If one fails with an error, all fail."""

    run_id: RunId
    commits: tuple[CommitCheckpoint, ...] = Field(min_length=1, max_length=MOST_AT_ONCE)


class CheckpointEvent(Event, key="checkpoint_id"):
    """`settles`: the checkpoint was neither saved nor abandoned before. Each announced checkpoint has exactly one such event."""

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
    """registry → searcher, scheduler, gateway: the manifest is committed; runs can restore from the checkpoint."""


class CheckpointAbandoned(CheckpointEvent, entity="checkpoint", happened="abandoned"):
    """registry → searcher, scheduler, gateway: the checkpoint was announced and will never be committed."""


class CheckpointCorrupt(CheckpointEvent, entity="checkpoint", happened="corrupt"):
    """registry → searcher, scheduler, gateway: the stored bytes differ from those announced; runs never restore from it."""


class CheckpointDeleted(CheckpointEvent, entity="checkpoint", happened="deleted"):
    """registry → gateway: the checkpoint was deleted by the retention rule or by a user."""


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
    """When the file of the checkpoint that was verified longest ago was last read and matched its hash."""


class CheckpointPage(BaseModel):
    checkpoints: tuple[CheckpointView, ...]
    next: str | None = None


class CheckpointFields(Record):
    """Fields by which lists of checkpoints are filtered and sorted, under their public names."""

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
    """List checkpoints. `filter` and `sort` use the fields of `CheckpointFields`; the default order is by creation time."""

    trial_id: TrialId | None = None
    experiment_id: ExperimentId | None = None
    checkpoint_id: CheckpointId | None = None
    after: str | None = None
    limit: int = 100
    filter: str = ""
    sort: str = ""


class FileLinks(BaseModel):
    """`next`: value of `first` for the next page; None on the last page."""

    checkpoint_id: CheckpointId
    step: int
    files: tuple[FileLink, ...]
    next: int | None = None


class GetCheckpointFiles(Query[FileLinks], owner="registry", name="checkpoint_files"):
    """Return presigned URLs of a checkpoint's files. `first`: index of the first file, as many as fit; None returns all at once."""

    checkpoint_id: CheckpointId
    first: int | None = None


class EditCheckpoint(Query[CheckpointView], owner="registry", name="edit_checkpoint"):
    """Change metadata by top-level key: a value replaces the old one, null deletes the key."""

    checkpoint_id: CheckpointId
    metadata: dict[str, JsonValue]


class VerificationRequested(BaseModel):
    """How much is queued for verification; files shared by several checkpoints count once."""

    checkpoints: int
    files: int
    size_bytes: int


class VerifyCheckpoints(Query[VerificationRequested], owner="registry", name="verify_checkpoints"):
    """Read and verify the files of one saved checkpoint, or of all of an experiment. `verified_at` or state `corrupt` shows the result.

    `is_waiting`: queue nothing; only return how much of an experiment's earlier request is still to be read.
    """

    checkpoint_id: CheckpointId | None = None
    experiment_id: ExperimentId | None = None
    is_waiting: bool = False


class DeleteCheckpoint(Query[CheckpointView], owner="registry", name="delete_checkpoint"):
    """Delete a checkpoint on a user's request. Rejected with the reason if it is registered, in use, or not settled yet."""

    checkpoint_id: CheckpointId


class CheckpointRetention(Record):
    """How many checkpoints survive collection. A checkpoint is kept if any of the three rules keeps it."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Record):
    checkpoint_id: CheckpointId
    trial_id: TrialId
    step: int
    size_bytes: int


class Collected(BaseModel):
    """Result of a collection.

    `checkpoints` holds the first of the `count` deleted ones. `size_bytes`: their total size. `freed_bytes`: the part of it that no other
    checkpoint shares.
    """

    policy: CheckpointRetention
    dry_run: bool
    count: int
    size_bytes: int
    freed_bytes: int
    checkpoints: tuple[CollectedCheckpoint, ...] = ()
    kept: dict[str, int] = Field(default_factory=dict)


class CollectCheckpoints(Query[Collected], owner="registry", name="collect_checkpoints"):
    """Delete an experiment's checkpoints that its retention rule does not keep, also while it runs. A dry run only lists them.

    Counts replace those of the config from now on; in a dry run they are only tried.
    """

    experiment_id: ExperimentId
    dry_run: bool = False
    save_experiment_best: int | None = None
    save_trial_best: int | None = None
    save_trial_latest: int | None = None


class WorkspaceUse(Record):
    """Bytes of a workspace: the distinct contents of its experiments' checkpoints, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = None


class StorageUse(BaseModel):
    """Bytes that a tenant stores, each distinct content counted once. `maximum_bytes` None: no limit.

    `workspaces`: those with bytes or a limit, by name. Content shared by several workspaces counts in each, so their sum may exceed the
    tenant's total.
    """

    used_bytes: int
    maximum_bytes: int | None = None
    workspaces: tuple[WorkspaceUse, ...] = ()


class GetStorage(Query[StorageUse], owner="registry", name="storage"):
    """Return how many bytes the tenant and each of its workspaces store."""

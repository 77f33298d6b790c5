"""API schema of checkpoints, their collection and storage limits."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import JsonObject, ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing


class CheckpointState(StrEnum):
    """State of a checkpoint; only `saved` checkpoints can be used."""

    UPLOADING = "uploading"
    SAVED = "saved"
    ABANDONED = "abandoned"
    CORRUPT = "corrupt"
    DELETED = "deleted"


class CheckpointFile(Resource):
    """One file of a checkpoint."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str


class Checkpoint(Resource):
    """A checkpoint of a trial. Only saved checkpoints can be downloaded."""

    id: UUID
    trial: UUID
    experiment: UUID
    run: int
    step: int
    state: CheckpointState
    size_bytes: int
    files: int
    metrics: dict[str, float] = {}
    not_finite: dict[str, NotFinite] = Field(
        default={}, description="Metrics whose value is NaN or infinite, with that value."
    )
    metadata: JsonObject = {}
    reason: str | None = None
    created_at: datetime
    verified_at: datetime | None = Field(
        default=None,
        description="Time since which all files are known to match their hashes. Files are verified again periodically.",
    )
    manifest: list[CheckpointFile] = Field(default=[], description="Files of the checkpoint; empty in lists.")


class CheckpointPage(Resource):
    """A page of checkpoints, oldest first."""

    items: list[Checkpoint]
    next_cursor: str | None = None


CHECKPOINTS = Listing.of(
    Checkpoint,
    *("id", "trial", "run", "step", "state", "size_bytes", "files", "reason", "created_at"),
    usual="created_at,id",
)


class ListTrialCheckpointsRequest(ListRequest):
    """The checkpoints of one trial."""

    listing = CHECKPOINTS

    trial: Reference


class ListExperimentCheckpointsRequest(ListRequest):
    """The checkpoints of all trials of one experiment."""

    listing = CHECKPOINTS

    experiment: Reference


class CheckpointRequest(Request):
    """One checkpoint by its id."""

    checkpoint: Reference


class EditCheckpointRequest(Request):
    """Changes of the metadata by top-level key: a value replaces the current one, null removes the key."""

    checkpoint: Reference
    metadata: JsonObject = {}


class VerifyCheckpointsRequest(Request):
    """All saved checkpoints of one experiment."""

    experiment: Reference
    waiting: bool = Field(
        default=False,
        description="True only reports how much of the requested verification is still outstanding; it starts nothing.",
    )


class VerificationAsked(Resource):
    """Amount of data to verify; a file that several checkpoints share counts once. The result appears as `verified_at` or the state `corrupt` of each checkpoint."""

    checkpoints: int
    files: int
    size_bytes: int


Count = Annotated[int | None, Field(ge=0, le=1_000_000)]


class CollectCheckpointsRequest(Request):
    """Which checkpoints of an experiment to keep. The given counts replace those of the config permanently, except in a dry run."""

    experiment: Reference
    dry_run: bool = False
    save_experiment_best: Count = None
    save_trial_best: Count = None
    save_trial_latest: Count = None


class RetentionPolicy(Resource):
    """How many checkpoints collection keeps: the union of the three sets."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Resource):
    """A checkpoint to delete."""

    id: UUID
    trial: UUID
    trial_number: int | None = Field(default=None, description="Number of the trial within its experiment.")
    step: int
    size_bytes: int


class Collected(Resource):
    """Checkpoints that a collection deletes, and counts of those that it keeps, by reason."""

    policy: RetentionPolicy
    dry_run: bool
    count: int
    size_bytes: int = Field(description="Total size of the deleted checkpoints as listed.")
    freed_bytes: int = Field(
        description="Size of the contents that no remaining checkpoint shares. The store frees them a day later."
    )
    checkpoints: list[CollectedCheckpoint] = Field(
        default=[], description="The 200 largest of the deleted checkpoints."
    )
    kept: dict[str, int] = Field(default={}, description="Number of remaining checkpoints by reason.")


class WorkspaceStorage(Resource):
    """Storage of a workspace: the checkpoints of its experiments, each content counted once, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="Null if only the tenant's limit applies.")


class Storage(Resource):
    """Storage of the tenant, each content counted once. For a caller who sees only some workspaces, the sum of these workspaces."""

    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="Null if no limit is set.")
    workspaces: list[WorkspaceStorage] = Field(
        default=[],
        description="Workspaces that the caller can see, by name. Contents that several workspaces share count in each; code archives count in none.",
    )


class SetStorageLimitRequest(Request):
    """The new storage limit of a tenant. It replaces the current one; omit `maximum_bytes` to remove it."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Name of the tenant; the caller's own by default."
    )
    maximum_bytes: Annotated[int, Field(ge=0, le=2**62)] | None = None


class StorageLimit(Resource):
    """How many bytes a tenant may store."""

    tenant: str
    maximum_bytes: int | None = None


class FileDownload(Resource):
    """One file with a temporary URL that needs no token."""

    path: str = Field(description="Relative path with forward slashes, always inside the folder.")
    size_bytes: int
    sha256: str
    url: str


class Download(Resource):
    """All files of a checkpoint or model version, with their hashes."""

    checkpoint: UUID
    step: int
    files: list[FileDownload]

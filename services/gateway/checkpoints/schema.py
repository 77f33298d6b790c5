"""Checkpoints as users see them."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.json_values import NotFinite
from services.gateway.platform.schema import JsonObject, ListRequest, Reference, Request, Resource
from shared.filters.fields import Listing


class CheckpointState(StrEnum):
    """Whether a checkpoint can be used."""

    UPLOADING = "uploading"
    SAVED = "saved"
    ABANDONED = "abandoned"
    CORRUPT = "corrupt"
    DELETED = "deleted"


class CheckpointFile(Resource):
    """One file of a checkpoint."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str


class Checkpoint(Resource):
    """One checkpoint of a trial; only a saved one can be downloaded."""

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
        default={}, description="Those that were no finite number, and which."
    )
    metadata: JsonObject = {}
    reason: str | None = None
    created_at: datetime
    verified_at: datetime | None = Field(
        default=None,
        description="Since when each of its files is known to be what it was; they are read again by and by.",
    )
    manifest: list[CheckpointFile] = Field(
        default=[], description="Its files, where one checkpoint was asked for."
    )


class CheckpointPage(Resource):
    """A page of checkpoints in the order of their making."""

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
    """Metadata by its top-level keys: what is given replaces what was there, null takes it away."""

    checkpoint: Reference
    metadata: JsonObject = {}


class VerifyCheckpointsRequest(Request):
    """All saved checkpoints of one experiment."""

    experiment: Reference
    waiting: bool = Field(
        default=False,
        description="Ask for nothing: only say how much of what was asked for is still to be read.",
    )


class VerificationAsked(Resource):
    """How much is read now, each file once however many checkpoints share it; `verified_at` or the state `corrupt` tells the outcome."""

    checkpoints: int
    files: int
    size_bytes: int


Count = Annotated[int | None, Field(ge=0, le=1_000_000)]


class CollectCheckpointsRequest(Request):
    """Which checkpoints of an experiment stay. Counts that are given stand in place of the config's from now on; a dry run tries them."""

    experiment: Reference
    dry_run: bool = False
    save_experiment_best: Count = None
    save_trial_best: Count = None
    save_trial_latest: Count = None


class RetentionPolicy(Resource):
    """How many checkpoints survive collection; the three sets are united."""

    save_experiment_best: int
    save_trial_best: int
    save_trial_latest: int


class CollectedCheckpoint(Resource):
    """A checkpoint that goes."""

    id: UUID
    trial: UUID
    trial_number: int | None = Field(default=None, description="Within its experiment.")
    step: int
    size_bytes: int


class Collected(Resource):
    """What goes, and what stays for which reason."""

    policy: RetentionPolicy
    dry_run: bool
    count: int
    size_bytes: int = Field(description="Of those that go, as `list` shows them.")
    freed_bytes: int = Field(
        description="What no checkpoint that stays holds too; the store has it for a day longer."
    )
    checkpoints: list[CollectedCheckpoint] = Field(
        default=[], description="The largest 200 of those that go."
    )
    kept: dict[str, int] = Field(default={}, description="How many stay, by reason.")


class WorkspaceStorage(Resource):
    """A workspace's bytes in the store: what checkpoints of its experiments hold, each content once, and their media."""

    workspace: str
    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="None: as many as the tenant.")


class Storage(Resource):
    """Bytes in the store: the tenant's, each content once, or for who sees some of its workspaces only, what these hold together."""

    used_bytes: int
    maximum_bytes: int | None = Field(default=None, description="None: as many as there is room for.")
    workspaces: list[WorkspaceStorage] = Field(
        default=[],
        description="By name, those that the caller sees; what several hold counts in each. The tenant's code counts in none.",
    )


class SetStorageLimitRequest(Request):
    """How many bytes a tenant may store, in place of what was said before."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="By its name; by default the caller's own."
    )
    maximum_bytes: Annotated[int, Field(ge=0, le=2**62)] | None = None


class StorageLimit(Resource):
    """How many bytes a tenant may store."""

    tenant: str
    maximum_bytes: int | None = None


class FileDownload(Resource):
    """One file and where it can be fetched for a short while, without a token."""

    path: str = Field(description="Relative, with forward slashes; never leaves the folder.")
    size_bytes: int
    sha256: str
    url: str


class Download(Resource):
    """All files of a checkpoint or model version, with hashes to check them by."""

    checkpoint: UUID
    step: int
    files: list[FileDownload]

"""Checkpoints and code snapshots as users see them."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from pydantic import Field

from services.gateway.api.base import (
    JsonObject,
    PageRequest,
    Reference,
    Request,
    Resource,
    Sha256,
)


class CheckpointState(StrEnum):
    """Whether a checkpoint can be used."""

    UPLOADING = "uploading"
    SAVED = "saved"
    ABANDONED = "abandoned"
    CORRUPT = "corrupt"
    DELETED = "deleted"


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
    metadata: JsonObject = {}
    reason: str | None = None
    created_at: datetime


class CheckpointPage(Resource):
    """A page of checkpoints in the order of their making."""

    items: list[Checkpoint]
    next_cursor: str | None = None


class ListTrialCheckpointsRequest(PageRequest):
    """The checkpoints of one trial."""

    trial: Reference


class ListExperimentCheckpointsRequest(PageRequest):
    """The checkpoints of all trials of one experiment."""

    experiment: Reference


class CheckpointRequest(Request):
    """One checkpoint by its id."""

    checkpoint: Reference


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


class CodeRequest(Request):
    """One code snapshot by the SHA-256 of its archive."""

    sha256: Sha256


class PutCodeRequest(Request):
    """A code archive (tar, gzip): its bytes are the body, or the `data` of the stream's messages."""

    sha256: Sha256


class Code(Resource):
    """A stored code snapshot."""

    sha256: str
    size_bytes: int

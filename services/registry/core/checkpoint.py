"""Checkpoint states, and the choice of the checkpoint to resume from."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from shared.messages.checkpoints import CheckpointState
from shared.state_machine import StateMachine


class CheckpointStatus(StrEnum):
    """State of a checkpoint. Only `saved` ones are visible to anyone but the uploader."""

    announced = "announced"
    uploading = "uploading"
    committing = "committing"
    saved = "saved"
    abandoned = "abandoned"
    corrupt = "corrupt"
    deleting = "deleting"
    deleted = "deleted"


class CheckpointTrigger(StrEnum):
    """Causes of a state change."""

    urls_signed = "urls signed"
    commit_asked = "commit asked"
    verified = "verified"
    mismatched = "mismatched"
    given_up = "given up"
    upload_timed_out = "upload timed out"
    upload_failed = "upload failed"
    fenced = "fenced"
    over_quota = "over quota"
    found_damaged = "found damaged"
    collected = "collected"
    objects_deleted = "objects deleted"


OPEN = (CheckpointStatus.announced, CheckpointStatus.uploading, CheckpointStatus.committing)
"""Neither saved nor abandoned."""

PUBLIC: dict[CheckpointStatus, CheckpointState] = {
    CheckpointStatus.announced: "uploading",
    CheckpointStatus.uploading: "uploading",
    CheckpointStatus.committing: "uploading",
    CheckpointStatus.saved: "saved",
    CheckpointStatus.abandoned: "abandoned",
    CheckpointStatus.corrupt: "corrupt",
    CheckpointStatus.deleting: "deleted",
    CheckpointStatus.deleted: "deleted",
}
"""State shown to clients. A checkpoint being deleted is shown as deleted, so that nobody starts to read it."""

_S, _T = CheckpointStatus, CheckpointTrigger

CHECKPOINT = StateMachine(
    "checkpoint",
    _S.announced,
    {
        (_S.announced, _T.urls_signed): _S.uploading,
        (_S.announced, _T.upload_timed_out): _S.abandoned,
        (_S.announced, _T.upload_failed): _S.abandoned,
        (_S.announced, _T.fenced): _S.abandoned,
        (_S.announced, _T.over_quota): _S.abandoned,
        (_S.uploading, _T.urls_signed): _S.uploading,
        (_S.uploading, _T.commit_asked): _S.committing,
        (_S.uploading, _T.upload_timed_out): _S.abandoned,
        (_S.uploading, _T.upload_failed): _S.abandoned,
        (_S.uploading, _T.fenced): _S.abandoned,
        (_S.uploading, _T.over_quota): _S.abandoned,
        (_S.committing, _T.urls_signed): _S.uploading,
        (_S.committing, _T.verified): _S.saved,
        (_S.committing, _T.mismatched): _S.uploading,
        (_S.committing, _T.given_up): _S.corrupt,
        (_S.committing, _T.upload_timed_out): _S.abandoned,
        (_S.committing, _T.upload_failed): _S.abandoned,
        (_S.committing, _T.fenced): _S.abandoned,
        (_S.committing, _T.over_quota): _S.abandoned,
        (_S.saved, _T.found_damaged): _S.corrupt,
        (_S.saved, _T.collected): _S.deleting,
        (_S.corrupt, _T.collected): _S.deleting,
        (_S.abandoned, _T.collected): _S.deleting,
        (_S.deleting, _T.objects_deleted): _S.deleted,
    },
    ignored={
        (_S.committing, _T.commit_asked),
        (_S.saved, _T.urls_signed),
        (_S.saved, _T.commit_asked),
        (_S.saved, _T.verified),
        (_S.saved, _T.upload_timed_out),
        (_S.saved, _T.upload_failed),
        (_S.saved, _T.fenced),
        (_S.abandoned, _T.verified),
        (_S.abandoned, _T.mismatched),
        (_S.abandoned, _T.upload_timed_out),
        (_S.abandoned, _T.upload_failed),
        (_S.abandoned, _T.fenced),
        (_S.abandoned, _T.urls_signed),
        (_S.abandoned, _T.commit_asked),
        (_S.abandoned, _T.given_up),
        (_S.corrupt, _T.urls_signed),
        (_S.corrupt, _T.commit_asked),
        (_S.corrupt, _T.upload_timed_out),
        (_S.corrupt, _T.upload_failed),
        (_S.corrupt, _T.fenced),
        (_S.corrupt, _T.found_damaged),
        (_S.uploading, _T.verified),
        (_S.uploading, _T.mismatched),
        (_S.uploading, _T.given_up),
        (_S.deleting, _T.collected),
        (_S.deleting, _T.upload_timed_out),
        (_S.deleting, _T.upload_failed),
        (_S.deleting, _T.fenced),
        (_S.deleted, _T.objects_deleted),
        (_S.deleted, _T.collected),
    },
    final={_S.deleted},
)
"""After a mismatch the state returns to `uploading`: the worker still has the files and uploads the mismatched ones again."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checkpoint of a trial, for choosing one."""

    checkpoint: UUID
    token: int
    step: int
    state: CheckpointStatus


def choose_newest(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the saved checkpoint to resume from: highest token first, then highest step; None if there is none.

    The token is first because a later run may have been rolled back to a lower step on purpose. The id breaks ties, so that every
    replica chooses the same.
    """
    saved = (one for one in candidates if one.state is CheckpointStatus.saved)
    return max(saved, key=lambda one: (one.token, one.step, one.checkpoint), default=None)


def describe_mismatch(path: str, wanted: tuple[int, str], found: tuple[int, str] | None) -> str | None:
    """Return why a stored file does not match its manifest (size in bytes, SHA-256 in hex); None if it does."""
    if found is None:
        return f"{path}: not in the store"
    if found[0] != wanted[0]:
        return f"{path}: {found[0]} bytes in the store, {wanted[0]} in the manifest"
    if found[1] != wanted[1]:
        return f"{path}: SHA-256 {found[1]} in the store, {wanted[1]} in the manifest"
    return None

"""A checkpoint's life, and which one a trial goes on from."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from shared.messages.checkpoints import CheckpointState
from shared.state_machine import StateMachine


class CheckpointStatus(StrEnum):
    """Only `saved` exists for anyone but its uploader."""

    announced = "announced"
    uploading = "uploading"
    committing = "committing"
    saved = "saved"
    abandoned = "abandoned"
    corrupt = "corrupt"
    deleting = "deleting"
    deleted = "deleted"


class CheckpointTrigger(StrEnum):
    """What moves a checkpoint on."""

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
    objects_gone = "objects gone"


OPEN = (CheckpointStatus.announced, CheckpointStatus.uploading, CheckpointStatus.committing)
"""Neither saved nor given up."""

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
"""What others see: whoever asks for a checkpoint that is being deleted must not begin to read it."""

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
        (_S.deleting, _T.objects_gone): _S.deleted,
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
        (_S.deleted, _T.objects_gone),
        (_S.deleted, _T.collected),
    },
    final={_S.deleted},
)
"""A refused upload goes back to `uploading`: the worker still has the files, and sends what did not fit again."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A checkpoint of a trial, as far as choosing one is concerned."""

    checkpoint: UUID
    token: int
    step: int
    state: CheckpointStatus


def choose_newest(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the saved checkpoint to go on from: highest token first, then highest step; None without one.

    The token is first because a later run may have been rolled back to a lower step on purpose. Equal ones are
    settled by the id, so that every replica chooses the same.
    """
    saved = (one for one in candidates if one.state is CheckpointStatus.saved)
    return max(saved, key=lambda one: (one.token, one.step, one.checkpoint), default=None)


def describe_mismatch(path: str, wanted: tuple[int, str], found: tuple[int, str] | None) -> str | None:
    """Return why a stored file does not fit its manifest (size in bytes, SHA-256 in hex), or None when it fits."""
    if found is None:
        return f"{path}: not in the store"
    if found[0] != wanted[0]:
        return f"{path}: {found[0]} bytes in the store, {wanted[0]} in the manifest"
    if found[1] != wanted[1]:
        return f"{path}: SHA-256 {found[1]} in the store, {wanted[1]} in the manifest"
    return None

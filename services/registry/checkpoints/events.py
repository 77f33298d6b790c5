"""Events of checkpoints, from their rows."""

from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.core.checkpoint import PUBLIC, CheckpointStatus
from services.registry.storage.store.files import File
from shared.errors import Broken
from shared.ids import CheckpointId, ExperimentId, RunId, TrialId
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointDeleted,
    CheckpointEvent,
    CheckpointSaved,
)
from shared.messages.files import FileEntry

_EVENTS: dict[CheckpointStatus, type[CheckpointEvent]] = {
    CheckpointStatus.saved: CheckpointSaved,
    CheckpointStatus.abandoned: CheckpointAbandoned,
    CheckpointStatus.corrupt: CheckpointCorrupt,
    CheckpointStatus.deleted: CheckpointDeleted,
}


def checkpoint_event(checkpoint: CheckpointRow, *, settles: bool = True) -> CheckpointEvent:
    """Return the event of the state that the checkpoint has just reached. `settles`: it was neither saved nor abandoned before."""
    kind = _EVENTS.get(checkpoint.state)
    if kind is None:
        raise Broken(f"there is no event for checkpoint state {checkpoint.state}")
    return kind(
        checkpoint_id=CheckpointId(checkpoint.id),
        trial_id=TrialId(checkpoint.trial),
        experiment_id=ExperimentId(checkpoint.experiment),
        run_id=RunId(checkpoint.run),
        run_number=checkpoint.run_number,
        token=checkpoint.token,
        version=checkpoint.version,
        number=checkpoint.number,
        step=checkpoint.step,
        state=PUBLIC[checkpoint.state],
        files=checkpoint.files,
        size_bytes=checkpoint.size_bytes,
        created_at=checkpoint.created_at,
        reason=checkpoint.reason,
        settles=settles,
    )


def file_entry(file: File) -> FileEntry:
    """Return a file's entry in a manifest."""
    return FileEntry(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256)

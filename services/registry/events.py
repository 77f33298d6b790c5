"""From rows to messages: what the registry says of its entities."""

from uuid import UUID

from services.registry.core.checkpoint import PUBLIC, State
from services.registry.store.checkpoints import Checkpoint
from services.registry.store.manifests import File
from services.registry.store.models import Model, Version
from shared.errors import Broken
from shared.ids import CheckpointId, ExperimentId, ModelId, RunId, TrialId, VersionId
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointDeleted,
    CheckpointEvent,
    CheckpointSaved,
)
from shared.messages.files import FileEntry
from shared.messages.models import ModelChanged, VersionChanged

_EVENTS: dict[State, type[CheckpointEvent]] = {
    State.saved: CheckpointSaved,
    State.abandoned: CheckpointAbandoned,
    State.corrupt: CheckpointCorrupt,
    State.deleted: CheckpointDeleted,
}


def checkpoint_event(checkpoint: Checkpoint, *, settles: bool = True) -> CheckpointEvent:
    """Return the event of the state that the checkpoint has just reached; `settles`: it was neither saved nor given up until now."""
    kind = _EVENTS.get(checkpoint.state)
    if kind is None:
        raise Broken(f"no event tells of a checkpoint that is {checkpoint.state}")
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


def model_event(model: Model, operation: UUID | None = None) -> ModelChanged:
    """Return the model's whole public state."""
    return ModelChanged(
        model_id=ModelId(model.id),
        version=model.version,
        name=model.name,
        workspace=model.workspace,
        description=model.description,
        notes=model.notes,
        tags=tuple(model.tags),
        metadata=dict(model.metadata),
        approvals=dict(model.approvals),
        versions=model.versions,
        aliases=dict(model.aliases),
        created_at=model.created_at,
        by=model.by,
        deleted_at=model.deleted_at,
        deleted_reason=model.deleted_reason,
        changed_by=model.changed_by,
        operation_id=operation,
    )


def version_event(
    version: Version, model: Model, checkpoint: Checkpoint, operation: UUID | None = None
) -> VersionChanged:
    """Return the version's whole public state."""
    return VersionChanged(
        version_id=VersionId(version.id),
        model_id=ModelId(model.id),
        model_name=model.name,
        version=version.version,
        number=version.number,
        checkpoint_id=CheckpointId(checkpoint.id),
        name=version.name,
        comment=version.comment,
        notes=version.notes,
        tags=tuple(version.tags),
        metadata=dict(version.metadata),
        signature=dict(version.signature) if version.signature is not None else None,
        stage=version.staged.stage,
        pending=version.staged.pending,
        stages=version.staged.stages,
        lineage=version.lineage,
        files=checkpoint.files,
        size_bytes=checkpoint.size_bytes,
        created_at=version.created_at,
        by=version.by,
        deleted_at=version.deleted_at,
        deleted_reason=version.deleted_reason,
        changed_by=version.changed_by,
        operation_id=operation,
    )


def file_entry(file: File) -> FileEntry:
    """Return a file as a manifest names it."""
    return FileEntry(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256)

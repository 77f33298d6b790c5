"""Events of models and their versions, from their rows."""

from uuid import UUID

from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.models.store import ModelRow, VersionRow
from shared.ids import CheckpointId, ModelId, VersionId
from shared.messages.models import ModelChanged, VersionChanged


def model_event(model: ModelRow, operation: UUID | None = None) -> ModelChanged:
    """Return the model's full public state."""
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
    version: VersionRow, model: ModelRow, checkpoint: CheckpointRow, operation: UUID | None = None
) -> VersionChanged:
    """Return the version's full public state."""
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

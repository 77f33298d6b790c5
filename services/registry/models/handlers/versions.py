"""Commands on model versions. A version's content is immutable; its stage, aliases and texts are not."""

from typing import TypeVar
from uuid import UUID

from services.registry.checkpoints.store import checkpoints, collection
from services.registry.core.checkpoint import PUBLIC, CheckpointStatus
from services.registry.lineage.store import lineage
from services.registry.models import events, store as models
from services.registry.models.core.names import change_tags, refuse_tags
from services.registry.models.core.stage import (
    StageStatus,
    ask_stage,
    decide_stage as decided,
    refuse_decision,
    refuse_deletion,
    refuse_stage,
)
from services.registry.models.handlers.command_handler import check, check_metadata, check_version
from services.registry.models.store import ModelRow, VersionRow
from services.registry.runs.store import trials
from shared.bus import Delivery, Unit
from shared.bus.data_deletion import has_been_deleted
from shared.errors import Broken, Conflict, NotFound
from shared.messages.base import Command
from shared.messages.models import (
    CreateVersion,
    DecideStage,
    DeleteVersion,
    EditVersion,
    RecordConsumer,
    SetStage,
)

C = TypeVar("C", bound=Command)
Staging = TypeVar("Staging", SetStage, DecideStage)


async def create_version(unit: Unit, delivery: Delivery[CreateVersion]) -> None:
    """Register a saved checkpoint as a version of a model."""
    message = delivery.message
    check(refuse_tags(message.tags), "tags")
    check_metadata(message.metadata)
    model = await models.lock_model(unit.connection, message.model_id)
    if model is None:
        raise NotFound(f"model {message.model_id}")
    check_version(message, model.version, f"model '{model.name}'")
    # Locked: collection may be about to delete it.
    checkpoint = await checkpoints.load_checkpoint(unit.connection, message.checkpoint_id, lock=True)
    if checkpoint is None:
        raise NotFound(f"checkpoint {message.checkpoint_id}")
    await trials.hold_experiment(unit.connection, checkpoint.experiment)
    if await has_been_deleted(unit, "registry", checkpoint.experiment):
        raise Conflict("checkpoint_not_saved", f"checkpoint {checkpoint.id} is being deleted")
    if checkpoint.state is not CheckpointStatus.saved:
        raise Conflict(
            "checkpoint_not_saved",
            f"checkpoint {checkpoint.id} is {PUBLIC[checkpoint.state]}, not saved",
        )
    made_of = await lineage.trace_lineage(unit.connection, checkpoint)
    number = model.versions + 1
    made = await models.insert_version(
        unit.connection,
        {
            "id": message.version_id,
            "tenant": delivery.envelope.tenant,
            "model": model.id,
            "number": number,
            "checkpoint": checkpoint.id,
            "tags": list(message.tags),
            "lineage": made_of.as_json(),
            "created_at": unit.now,
            **message.model_dump(include={"name", "comment", "notes", "metadata", "signature", "by"}),
        },
    )
    changed = await models.save_model(unit.connection, model, versions=number, changed_by=message.by)
    unit.emit(
        events.version_event(made, changed, checkpoint, message.operation_id),
        events.model_event(changed),
        cause=delivery,
    )


async def edit_version(unit: Unit, delivery: Delivery[EditVersion]) -> None:
    """Change a version's texts and tags."""
    message = delivery.message
    model, version = await _locked(unit, message.version_id, message)
    tags = change_tags(version.tags, message.add_tags, message.remove_tags)
    check(refuse_tags(tags), "tags")
    written = message.model_dump(include={"comment", "notes"}, exclude_none=True)
    changed = await models.save_version(unit.connection, version, tags=tags, changed_by=message.by, **written)
    await _emit_version(unit, delivery, model, changed)


async def set_stage(unit: Unit, delivery: Delivery[SetStage]) -> None:
    """Change a version's stage, or request the approvals that this needs."""
    message = delivery.message
    model, version = await _locked(unit, message.version_id, message)
    if refusal := refuse_stage(version.staged, message.stage):
        raise Conflict(refusal.code, refusal.reason)
    needed = model.approvals.get(message.stage, 0)
    staged = ask_stage(version.staged, message.stage, message.by, message.reason, needed, unit.now)
    await _restage(unit, delivery, model, version, staged)


async def decide_stage(unit: Unit, delivery: Delivery[DecideStage]) -> None:
    """Record a user's answer to a pending stage change."""
    message = delivery.message
    model, version = await _locked(unit, message.version_id, message)
    if refusal := refuse_decision(version.staged.pending, message.by, approve=message.approve):
        raise Conflict(refusal.code, refusal.reason)
    staged = decided(version.staged, message.by, message.reason, unit.now, approve=message.approve)
    await _restage(unit, delivery, model, version, staged)


async def delete_version(unit: Unit, delivery: Delivery[DeleteVersion]) -> None:
    """Delete a version that is not in use; its number is not reused."""
    message = delivery.message
    model, version = await _locked(unit, message.version_id, message)
    if refusal := refuse_deletion(version.staged.stage, model.aliases_of(version.number)):
        raise Conflict(refusal.code, refusal.reason)
    await remove(unit, delivery, model, version, message.reason, message.by)


async def record_consumer(unit: Unit, delivery: Delivery[RecordConsumer]) -> None:
    """Record a use of a version, for lineage."""
    message = delivery.message
    check_metadata(message.metadata)
    model, version = await _locked(unit, message.version_id, message)
    await models.insert_consumer(
        unit.connection,
        {
            "id": message.consumer_id,
            "tenant": delivery.envelope.tenant,
            "version": version.id,
            "at": unit.now,
            **message.model_dump(include={"kind", "reference", "metadata", "by"}),
        },
    )
    # A use does not change the version; the event is emitted again to end the caller's wait.
    await _emit_version(unit, delivery, model, await models.save_version(unit.connection, version))


async def remove(
    unit: Unit, delivery: Delivery[C], model: ModelRow, version: VersionRow, reason: str, by: str
) -> None:
    """Delete a version, and have its checkpoint collected again. Raises nothing: the caller has checked that deletion is allowed."""
    deleted = await models.save_version(
        unit.connection, version, deleted_at=unit.now, deleted_reason=reason, changed_by=by
    )
    await collection.save_uncollected(unit.connection, version.lineage.experiment_id)
    await _emit_version(unit, delivery, model, deleted)


async def _restage(
    unit: Unit,
    delivery: Delivery[Staging],
    model: ModelRow,
    version: VersionRow,
    staged: StageStatus,
) -> None:
    changed = await models.save_version(
        unit.connection, version, **models.staged_columns(staged), changed_by=delivery.message.by
    )
    await _emit_version(unit, delivery, model, changed)


async def _locked(unit: Unit, id: UUID, command: Command) -> tuple[ModelRow, VersionRow]:
    """Return the version and its model, whose lock covers both."""
    found = await models.find_version(unit.connection, id=id)
    model = await models.lock_model(unit.connection, found.model) if found else None
    version = await models.find_version(unit.connection, id=id) if model else None
    if model is None or version is None:
        raise NotFound(f"version {id}")
    check_version(command, version.version, f"version {version.number} of model '{model.name}'")
    return model, version


async def _emit_version(unit: Unit, delivery: Delivery[C], model: ModelRow, version: VersionRow) -> None:
    checkpoint = await checkpoints.load_checkpoint(unit.connection, version.checkpoint)
    if checkpoint is None:
        raise Broken(f"version {version.id} has no checkpoint")
    unit.emit(events.version_event(version, model, checkpoint, delivery.message.operation_id), cause=delivery)

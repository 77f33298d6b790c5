"""Commands on models. What is refused is said by `operation.refused`, so that the caller's wait ends."""

from services.registry import events
from services.registry.core.checkpoint import State
from services.registry.core.names import model_key, refuse_model_name
from services.registry.store import checkpoints, models
from services.registry.store.checkpoints import Checkpoint
from services.registry.store.models import Model
from shared.bus import Delivery, Unit
from shared.errors import Conflict, MusterError, NotFound, Rejected
from shared.ids import CheckpointId, ModelId, VersionId
from shared.messages.base import Command
from shared.messages.experiments import OperationRefused
from shared.messages.models import CreateModel, CreateVersion, Lineage, VersionChanged


async def on_create_model(unit: Unit, batch: list[Delivery[CreateModel]]) -> None:
    """Create models under names that their tenant does not have yet."""
    for delivery in batch:
        try:
            await _create_model(unit, delivery)
        except (Rejected, Conflict) as error:
            _refuse(unit, delivery, error)


async def on_create_version(unit: Unit, batch: list[Delivery[CreateVersion]]) -> None:
    """Give models versions of saved checkpoints."""
    for delivery in batch:
        try:
            await _create_version(unit, delivery)
        except (Rejected, Conflict) as error:
            _refuse(unit, delivery, error)


async def _create_model(unit: Unit, delivery: Delivery[CreateModel]) -> None:
    message = delivery.message
    if refusal := refuse_model_name(message.name):
        raise Rejected(refusal.code, refusal.reason, place="name")
    made = await models.insert_model(
        unit.connection,
        {
            "id": message.model_id,
            "tenant": delivery.envelope.tenant,
            "name": message.name,
            "key": model_key(message.name),
            "description": message.description,
            "metadata": message.metadata,
            "by": message.by,
            "created_at": unit.now,
        },
    )
    if made is None:
        raise Conflict(
            "model_exists", f"a model called '{message.name}' exists already (case does not count)"
        )
    unit.emit(events.model_event(made, message.operation_id), cause=delivery)


async def _create_version(unit: Unit, delivery: Delivery[CreateVersion]) -> None:
    message = delivery.message
    model = await models.load_model(unit.connection, message.model_id, lock=True)
    if model is None:
        raise NotFound(f"model {message.model_id}")
    if message.expected_version is not None and message.expected_version != model.version:
        raise Conflict(
            "version_conflict", f"model '{model.name}' has changed meanwhile; look at it and ask again"
        )
    # Locked: collection may be about to delete it.
    checkpoint = await checkpoints.load_checkpoint(unit.connection, message.checkpoint_id, lock=True)
    if checkpoint is None:
        raise NotFound(f"checkpoint {message.checkpoint_id}")
    if checkpoint.state is not State.saved:
        raise Conflict(
            "checkpoint_not_saved",
            f"checkpoint {checkpoint.id} is {events.PUBLIC[checkpoint.state]}, not saved",
        )
    lineage = await models.trace_lineage(unit.connection, checkpoint)
    changed = await models.add_version(
        unit.connection,
        model,
        {
            "id": message.version_id,
            "tenant": delivery.envelope.tenant,
            "checkpoint": checkpoint.id,
            "name": message.name,
            "comment": message.comment,
            "metadata": message.metadata,
            "by": message.by,
            "lineage": lineage.model_dump(mode="json"),
            "created_at": unit.now,
        },
    )
    unit.emit(
        _version_event(unit, message, changed, checkpoint, lineage),
        events.model_event(changed),
        cause=delivery,
    )


def _version_event(
    unit: Unit, message: CreateVersion, model: Model, checkpoint: Checkpoint, lineage: Lineage
) -> VersionChanged:
    return VersionChanged(
        version_id=VersionId(message.version_id),
        model_id=ModelId(model.id),
        model_name=model.name,
        version=1,
        number=model.versions,
        checkpoint_id=CheckpointId(checkpoint.id),
        name=message.name,
        comment=message.comment,
        metadata=message.metadata,
        lineage=lineage,
        files=checkpoint.files,
        size_bytes=checkpoint.size_bytes,
        created_at=unit.now,
        by=message.by,
        operation_id=message.operation_id,
    )


def _refuse(
    unit: Unit, delivery: Delivery[CreateModel] | Delivery[CreateVersion], error: MusterError
) -> None:
    command: Command = delivery.message
    unit.emit(
        OperationRefused(
            operation_id=command.operation_id, code=error.code, message=error.message, hint=error.hint
        ),
        cause=delivery,
    )

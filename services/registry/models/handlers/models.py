"""Commands on models. `versions` has those on versions."""

from services.registry.models import events, store as models
from services.registry.models.core.names import (
    change_tags,
    model_key,
    refuse_alias,
    refuse_approvals,
    refuse_model_name,
    refuse_tags,
)
from services.registry.models.core.stage import refuse_deletion
from services.registry.models.handlers.command_handler import check, check_metadata, check_version
from services.registry.models.handlers.versions import remove
from services.registry.models.store import ModelRow
from shared.bus import Delivery, Unit
from shared.errors import Conflict, NotFound
from shared.ids import ModelId
from shared.messages.base import Command
from shared.messages.models import CreateModel, DeleteModel, EditModel, SetAlias


async def create_model(unit: Unit, delivery: Delivery[CreateModel]) -> None:
    """Create a model under a name that is new in its workspace."""
    message = delivery.message
    check(refuse_model_name(message.name), "name")
    check(refuse_tags(message.tags), "tags")
    check(refuse_approvals(message.approvals), "approvals")
    check_metadata(message.metadata)
    made = await models.insert_model(
        unit.connection,
        {
            "id": message.model_id,
            "tenant": delivery.envelope.tenant,
            "key": model_key(message.name),
            "tags": list(message.tags),
            "created_at": unit.now,
            **message.model_dump(include={"name", "workspace", "description", "notes", "metadata", "by"}),
            "approvals": message.approvals,
        },
    )
    if made is None:
        raise Conflict(
            "model_exists",
            f"the workspace '{message.workspace}' already has a model named '{message.name}' (case is ignored)",
        )
    unit.emit(events.model_event(made, message.operation_id), cause=delivery)


async def edit_model(unit: Unit, delivery: Delivery[EditModel]) -> None:
    """Change a model's texts, metadata, tags or required approvals."""
    message = delivery.message
    check(refuse_approvals(message.approvals), "approvals")
    check_metadata(message.metadata)
    model = await _locked(unit, message.model_id, message)
    tags = change_tags(model.tags, message.add_tags, message.remove_tags)
    check(refuse_tags(tags), "tags")
    approvals = {**model.approvals, **message.approvals}
    changed = await models.save_model(
        unit.connection,
        model,
        tags=tags,
        approvals={stage: count for stage, count in approvals.items() if count},
        changed_by=message.by,
        **message.model_dump(include={"description", "notes", "metadata"}, exclude_none=True),
    )
    unit.emit(events.model_event(changed, message.operation_id), cause=delivery)


async def set_alias(unit: Unit, delivery: Delivery[SetAlias]) -> None:
    """Point an alias at a version, or remove it."""
    message = delivery.message
    check(refuse_alias(message.alias), "alias")
    model = await _locked(unit, message.model_id, message)
    if message.number is None:
        if message.alias not in model.aliases:
            raise NotFound(f"alias {message.alias} of model {model.name}")
        aliases = {alias: number for alias, number in model.aliases.items() if alias != message.alias}
    else:
        found = await models.find_version(unit.connection, model=model.id, number=message.number)
        if found is None:
            raise NotFound(f"version {message.number} of model {model.name}")
        aliases = {**model.aliases, message.alias: message.number}
    changed = await models.save_model(unit.connection, model, aliases=aliases, changed_by=message.by)
    unit.emit(events.model_event(changed, message.operation_id), cause=delivery)


async def delete_model(unit: Unit, delivery: Delivery[DeleteModel]) -> None:
    """Delete a model with all its versions, unless one is in use. Its name can be reused."""
    message = delivery.message
    model = await _locked(unit, message.model_id, message)
    versions = await models.load_versions(unit.connection, model.id)
    for version in versions:
        if refusal := refuse_deletion(version.staged.stage, model.aliases_of(version.number)):
            raise Conflict(refusal.code, f"version {version.number}: {refusal.reason}")
    for version in versions:
        await remove(unit, delivery, model, version, message.reason, message.by)
    deleted = await models.save_model(
        unit.connection,
        model,
        deleted_at=unit.now,
        deleted_reason=message.reason,
        changed_by=message.by,
    )
    unit.emit(events.model_event(deleted, message.operation_id), cause=delivery)


async def _locked(unit: Unit, id: ModelId, command: Command) -> ModelRow:
    model = await models.lock_model(unit.connection, id)
    if model is None:
        raise NotFound(f"model {id}")
    check_version(command, model.version, f"model '{model.name}'")
    return model

"""Operations of registered models. Changes are commands to the registry; reads use its announcements."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.experiments.workspace_names import refuse_similar_workspace
from services.gateway.models import store as models
from services.gateway.models.find import model_in, version_in
from services.gateway.models.render import render_model
from services.gateway.models.schema import (
    CreateModelRequest,
    DeleteModelRequest,
    EditModelRequest,
    ListModelsRequest,
    Model,
    ModelAlias,
    ModelPage,
    ModelRequest,
    SetModelAliasRequest,
)
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.sending import CommandTarget, carried_out, outcome_from_feed
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, READ_MODEL, SAFE, WRITE_MODEL
from services.gateway.platform.preconditions import guard
from shared.ids import ModelId
from shared.messages.base import Command
from shared.messages.models import CreateModel, DeleteModel, EditModel, SetAlias
from shared.messages.trial_specs import UNCATEGORIZED

MODEL = CommandTarget("model", models.load_model, render_model, Model)


async def create_model(call: Call, request: CreateModelRequest) -> Model:
    """Create a model, to which versions can then be added."""
    workspace = request.workspace or UNCATEGORIZED
    call.check_scope(Permission.MODEL_WRITE, Scope(workspace))

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        await _refuse_taken(connection, workspace, request.name)
        await refuse_similar_workspace(connection, workspace)
        return CreateModel(
            operation_id=operation_id,
            model_id=ModelId(operation_id),
            workspace=workspace,
            by=call.caller.name,
            **request.model_dump(exclude={"workspace"}),
        )

    return await carried_out(call, request, order, MODEL)


async def list_models(call: Call, request: ListModelsRequest) -> ModelPage:
    """List the models, by name by default."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await models.load_models(
            connection,
            name_contains=request.name_contains,
            workspace=request.workspace,
            tag=request.tag,
            wanted=wanted,
        )
    return ModelPage(
        items=[render_model(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def get_model(call: Call, request: ModelRequest) -> Model:
    """Show one model."""
    async with call.read() as connection:
        return render_model(await model_in(connection, request.model))


async def edit_model(call: Call, request: EditModelRequest) -> Model:
    """Edit the description, notes, tags, metadata or required approvals of a model."""

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        model = await model_in(connection, request.model)
        call.set_audit_fields(before=render_model(model), entity=f"model/{model.workspace}/{model.name}")
        if request.approvals:
            # Otherwise a requester could first drop the required approvals of a stage.
            call.check_scope(Permission.MODEL_APPROVE, Scope(model.workspace))
        values = request.model_dump(exclude={"model"}) | guard(call, render_model(model), model.version)
        return EditModel(operation_id=operation_id, model_id=model.id, by=call.caller.name, **values)

    return await carried_out(call, request, order, MODEL)


async def set_alias(call: Call, request: SetModelAliasRequest) -> Model:
    """Point an alias to a version. An existing alias moves."""
    return await _alias(call, request, request.version)


async def delete_alias(call: Call, request: ModelAlias) -> Model:
    """Delete an alias. The version stays."""
    return await _alias(call, request, None)


async def delete_model(call: Call, request: DeleteModelRequest) -> Model:
    """Delete a model with all its versions. Refused if a version is in use. The name becomes available again."""

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        model = await model_in(connection, request.model)
        call.set_audit_fields(before=render_model(model), entity=f"model/{model.workspace}/{model.name}")
        return DeleteModel(
            operation_id=operation_id,
            model_id=model.id,
            reason=request.reason,
            by=call.caller.name,
            **guard(call, render_model(model), model.version),
        )

    return await carried_out(call, request, order, MODEL)


async def _alias(call: Call, request: ModelAlias, version: str | None) -> Model:
    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        model = await model_in(connection, request.model)
        call.set_audit_fields(before=render_model(model))
        return SetAlias(
            operation_id=operation_id,
            model_id=model.id,
            alias=request.alias,
            number=(await version_in(connection, model, version)).number if version else None,
            by=call.caller.name,
            **guard(call, render_model(model), model.version),
        )

    return await carried_out(call, request, order, MODEL)


async def _refuse_taken(connection: AsyncConnection, workspace: str, name: str) -> None:
    """Raises Conflict for a taken name. This check only answers early; the registry guarantees uniqueness."""
    if await models.load_named(connection, f"{workspace}/{name}"):
        raise Conflict(
            "model_exists",
            f"workspace {workspace!r} already has a model named {name!r}",
            "name",
            "choose another name",
        )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateModel", "POST", "/v1/models", CreateModelRequest, Model, WRITE_MODEL, KEY, create_model, status=201, outcome=outcome_from_feed(MODEL)),
    Operation("ListModels", "GET", "/v1/models", ListModelsRequest, ModelPage, READ_MODEL, SAFE, list_models),
    Operation("GetModel", "GET", "/v1/models/{model}", ModelRequest, Model, READ_MODEL, SAFE, get_model),
    Operation("EditModel", "PATCH", "/v1/models/{model}", EditModelRequest, Model, WRITE_MODEL, KEY, edit_model, outcome=outcome_from_feed(MODEL), conditional=True),
    Operation("DeleteModel", "DELETE", "/v1/models/{model}", DeleteModelRequest, Model, WRITE_MODEL, KEY, delete_model, outcome=outcome_from_feed(MODEL), conditional=True),
    Operation("SetModelAlias", "PUT", "/v1/models/{model}/aliases/{alias}", SetModelAliasRequest, Model, WRITE_MODEL, KEY, set_alias, outcome=outcome_from_feed(MODEL), conditional=True),
    Operation("DeleteModelAlias", "DELETE", "/v1/models/{model}/aliases/{alias}", ModelAlias, Model, WRITE_MODEL, KEY, delete_alias, outcome=outcome_from_feed(MODEL), conditional=True),
)
# fmt: on

"""Registered models: commands to the registry, reads from what it announced. Neighbour: `versions`."""

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.api.models import (
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
from services.gateway.core.permissions import Permission
from services.gateway.operations.call import Call, check_permission
from services.gateway.operations.commands import carried_out, created
from services.gateway.operations.find import model_in, version_in
from services.gateway.operations.once import claim
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render_models import render_model
from services.gateway.store import models
from shared.ids import ModelId, new_id
from shared.messages.base import Command
from shared.messages.models import CreateModel, DeleteModel, EditModel, SetAlias
from shared.messages.specs import UNCATEGORIZED


async def create_model(call: Call, request: CreateModelRequest) -> Model:
    """Creates a model, to which versions can then be added."""
    model_id = new_id(call.doors.clock)
    workspace = request.workspace or UNCATEGORIZED
    async with call.doors.units.tenant(call.tenant) as unit:
        earlier = await claim(call, unit, request, model_id)
        if earlier is not None:
            model_id = earlier.entity
        else:
            await _refuse_taken(unit.connection, workspace, request.name)
            unit.emit(
                CreateModel(
                    operation_id=model_id,
                    model_id=ModelId(model_id),
                    workspace=workspace,
                    by=call.caller.name,
                    **request.model_dump(exclude={"workspace"}),
                )
            )
    return render_model(
        await created(call, model_id, lambda connection: models.load_model(connection, model_id))
    )


async def list_models(call: Call, request: ListModelsRequest) -> ModelPage:
    """Lists the models by name."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.tenant(call.tenant) as connection:
        rows = await models.load_models(
            connection,
            name_contains=request.name_contains,
            workspace=request.workspace,
            tag=request.tag,
            after=(str(position[0]), UUID(str(position[1]))) if position else None,
            limit=request.limit + 1,
        )
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return ModelPage(
        items=[render_model(row) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].name, str(shown[-1].id)]) if more else None,
    )


async def get_model(call: Call, request: ModelRequest) -> Model:
    """Shows one model."""
    return render_model(await _find(call, request.model))


async def edit_model(call: Call, request: EditModelRequest) -> Model:
    """Changes what is written about a model, its tags, or who must agree to a stage."""
    model = await _find(call, request.model)
    if request.approvals:
        # Whoever may ask for a stage could otherwise have nobody asked first.
        check_permission(call.caller, Permission.MODEL_APPROVE, names_object=False)
    command = EditModel(
        operation_id=new_id(call.doors.clock),
        model_id=model.id,
        by=call.caller.name,
        **request.model_dump(exclude={"model"}),
    )
    return await _changed(call, model, command)


async def set_alias(call: Call, request: SetModelAliasRequest) -> Model:
    """Lets an alias name one version, from now on no other."""
    async with call.doors.database.tenant(call.tenant) as connection:
        model = await model_in(connection, request.model)
        version = await version_in(connection, model, request.version)
    command = SetAlias(
        operation_id=new_id(call.doors.clock),
        model_id=model.id,
        alias=request.alias,
        number=version.number,
        by=call.caller.name,
    )
    return await _changed(call, model, command)


async def delete_alias(call: Call, request: ModelAlias) -> Model:
    """Takes an alias away; the version that it named stays."""
    model = await _find(call, request.model)
    command = SetAlias(
        operation_id=new_id(call.doors.clock),
        model_id=model.id,
        alias=request.alias,
        number=None,
        by=call.caller.name,
    )
    return await _changed(call, model, command)


async def delete_model(call: Call, request: DeleteModelRequest) -> Model:
    """Deletes a model with all its versions, none of which may be in use; its name is free again."""
    model = await _find(call, request.model)
    command = DeleteModel(
        operation_id=new_id(call.doors.clock),
        model_id=model.id,
        reason=request.reason,
        by=call.caller.name,
    )
    return await _changed(call, model, command)


async def _find(call: Call, reference: str) -> Any:
    async with call.doors.database.tenant(call.tenant) as connection:
        return await model_in(connection, reference)


async def _changed(call: Call, model: Any, command: Command) -> Model:
    return render_model(
        await carried_out(call, command, model.id, lambda connection: models.load_model(connection, model.id))
    )


async def _refuse_taken(connection: AsyncConnection, workspace: str, name: str) -> None:
    """Only the early answer: the registry has the last word on names."""
    if await models.load_named(connection, f"{workspace}/{name}"):
        raise Conflict(
            "model_exists",
            f"a model named {name!r} exists already in {workspace!r}",
            "name",
            "choose another name",
        )

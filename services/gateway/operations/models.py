"""Registered models and versions: commands to the registry, reads from what it announced."""

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, MusterError, Transient
from services.gateway.api.checkpoints import Download
from services.gateway.api.models import (
    CreateModelRequest,
    CreateModelVersionRequest,
    ListModelsRequest,
    ListModelVersionsRequest,
    Model,
    ModelPage,
    ModelRequest,
    ModelVersion,
    ModelVersionPage,
    ModelVersionRequest,
)
from services.gateway.operations.call import Call
from services.gateway.operations.checkpoints import download_files
from services.gateway.operations.commands import wait_for
from services.gateway.operations.find import model_in, version_in
from services.gateway.operations.once import claim, forget
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render import render_model, render_version
from services.gateway.store import registry
from shared.ids import CheckpointId, ModelId, VersionId, new_id
from shared.messages.models import CreateModel, CreateVersion


async def create_model(call: Call, request: CreateModelRequest) -> Model:
    """Creates a model, to which versions can then be added."""
    model_id = new_id(call.doors.clock)
    async with call.doors.units.tenant(call.tenant) as unit:
        earlier = await claim(call, unit, request, model_id)
        if earlier is not None:
            model_id = earlier.entity
        else:
            await _refuse_taken(unit.connection, request.name)
            unit.emit(
                CreateModel(
                    operation_id=model_id,
                    model_id=ModelId(model_id),
                    name=request.name,
                    description=request.description,
                    metadata=request.metadata,
                    by=call.caller.name,
                )
            )
    return render_model(
        await _created(call, model_id, lambda connection: registry.load_model(connection, model_id))
    )


async def list_models(call: Call, request: ListModelsRequest) -> ModelPage:
    """Lists the models by name."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.tenant(call.tenant) as connection:
        above = str(position[0]) if position else None
        rows = await registry.load_models(connection, request.name_contains, above, request.limit + 1)
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return ModelPage(
        items=[render_model(row) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].name]) if more else None,
    )


async def get_model(call: Call, request: ModelRequest) -> Model:
    """Shows one model."""
    async with call.doors.database.tenant(call.tenant) as connection:
        return render_model(await model_in(connection, request.model))


async def create_version(call: Call, request: CreateModelVersionRequest) -> ModelVersion:
    """Makes a saved checkpoint the next version of a model."""
    version_id = new_id(call.doors.clock)
    async with call.doors.units.tenant(call.tenant) as unit:
        model = await model_in(unit.connection, request.model)
        earlier = await claim(call, unit, request, version_id)
        if earlier is not None:
            version_id = earlier.entity
        else:
            unit.emit(
                CreateVersion(
                    operation_id=version_id,
                    version_id=VersionId(version_id),
                    model_id=ModelId(model.id),
                    checkpoint_id=CheckpointId(request.checkpoint),
                    name=request.name,
                    comment=request.comment,
                    metadata=request.metadata,
                    by=call.caller.name,
                )
            )
    row = await _created(
        call, version_id, lambda connection: registry.load_version_by_id(connection, version_id)
    )
    return render_version(row)


async def list_versions(call: Call, request: ListModelVersionsRequest) -> ModelVersionPage:
    """Lists a model's versions, newest first."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.tenant(call.tenant) as connection:
        model = await model_in(connection, request.model)
        below = int(str(position[0])) if position else None
        rows = await registry.load_versions(connection, model.id, below, request.limit + 1)
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return ModelVersionPage(
        items=[render_version(row) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].number]) if more else None,
    )


async def get_version(call: Call, request: ModelVersionRequest) -> ModelVersion:
    """Shows one version of a model with its lineage."""
    return render_version(await _find_version(call, request))


async def download_version(call: Call, request: ModelVersionRequest) -> Download:
    """Says where each file of a version can be fetched, with its hash."""
    row = await _find_version(call, request)
    return await download_files(call, UUID(row.changed["checkpoint_id"]))


async def _find_version(call: Call, request: ModelVersionRequest) -> Any:
    async with call.doors.database.tenant(call.tenant) as connection:
        model = await model_in(connection, request.model)
        return await version_in(connection, model, request.version)


async def _refuse_taken(connection: AsyncConnection, name: str) -> None:
    """Only the early answer: the registry has the last word on names."""
    if await registry.load_model(connection, name) is not None:
        raise Conflict(
            "model_exists", f"a model named {name!r} exists already", "name", "choose another name"
        )


async def _created(call: Call, entity: UUID, look: Any) -> Any:
    """The row of what was just ordered. A refusal frees the idempotency key."""
    try:
        row = await wait_for(call, entity, look)
    except MusterError:
        await forget(call)
        raise
    if row is None:
        raise Transient(
            "the registry has not answered yet; the request is kept and will be carried out",
            retry_after_s=2.0,
            code="still_working",
        )
    return row

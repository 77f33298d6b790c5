"""Versions of models: commands to the registry, reads from what it announced. Neighbour: `models`."""

from typing import Any
from uuid import UUID

from services.gateway.api.checkpoints import Download
from services.gateway.api.versions import (
    CompareModelVersionsRequest,
    CreateModelVersionRequest,
    DecideModelStageRequest,
    DeleteModelVersionRequest,
    EditModelVersionRequest,
    ListModelVersionsRequest,
    ModelComparison,
    ModelVersion,
    ModelVersionPage,
    ModelVersionRequest,
    RecordModelUseRequest,
    SetModelStageRequest,
)
from services.gateway.core.comparing import compare
from services.gateway.operations.call import Call
from services.gateway.operations.checkpoints import download_files
from services.gateway.operations.commands import carried_out, created
from services.gateway.operations.find import model_in, version_in
from services.gateway.operations.once import claim
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render_models import render_version
from services.gateway.store import models
from shared.ids import CheckpointId, ModelId, VersionId, derived_id, new_id
from shared.messages.base import Command
from shared.messages.checkpoints import ListCheckpoints
from shared.messages.models import (
    CreateVersion,
    DecideStage,
    DeleteVersion,
    EditVersion,
    RecordConsumer,
    SetStage,
)


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
                    by=call.caller.name,
                    **request.model_dump(exclude={"model", "checkpoint"}),
                )
            )
    return render_version(
        await created(call, version_id, lambda connection: models.load_version_by_id(connection, version_id))
    )


async def list_versions(call: Call, request: ListModelVersionsRequest) -> ModelVersionPage:
    """Lists a model's versions, newest first."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.tenant(call.tenant) as connection:
        model = await model_in(connection, request.model)
        below = int(str(position[0])) if position else None
        rows = await models.load_versions(connection, model.id, below, request.limit + 1)
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return ModelVersionPage(
        items=[render_version(row) for row in shown],
        next_cursor=make_cursor(call, request, [shown[-1].number]) if more else None,
    )


async def get_version(call: Call, request: ModelVersionRequest) -> ModelVersion:
    """Shows one version of a model with its lineage."""
    return render_version(await find_version(call, request.model, request.version))


async def download_version(call: Call, request: ModelVersionRequest) -> Download:
    """Says where each file of a version can be fetched, with its hash."""
    row = await find_version(call, request.model, request.version)
    return await download_files(call, UUID(row.changed["checkpoint_id"]))


async def compare_versions(call: Call, request: CompareModelVersionsRequest) -> ModelComparison:
    """Says what differs between two versions of a model: metrics, hyperparameters, data, code, signature, files."""
    base = render_version(await find_version(call, request.model, request.base))
    other = render_version(await find_version(call, request.model, request.other))
    differences = compare(base, other, await _hashes(call, base), await _hashes(call, other))
    return ModelComparison(base=base, other=other, differences=differences)


async def edit_version(call: Call, request: EditModelVersionRequest) -> ModelVersion:
    """Changes what is written about a version, or its tags; what it is made of cannot be changed."""
    row = await find_version(call, request.model, request.version)
    command = EditVersion(
        operation_id=new_id(call.doors.clock),
        version_id=row.id,
        by=call.caller.name,
        **request.model_dump(exclude={"model", "version"}),
    )
    return await _changed(call, row, command)


async def set_stage(call: Call, request: SetModelStageRequest) -> ModelVersion:
    """Brings a version to a stage, or asks for the approvals that this takes."""
    row = await find_version(call, request.model, request.version)
    command = SetStage(
        operation_id=new_id(call.doors.clock),
        version_id=row.id,
        stage=request.stage.value,
        reason=request.reason,
        by=call.caller.name,
    )
    return await _changed(call, row, command)


async def approve_stage(call: Call, request: DecideModelStageRequest) -> ModelVersion:
    """Agrees to the change of stage that waits; who asked for it cannot."""
    return await _decided(call, request, approve=True)


async def reject_stage(call: Call, request: DecideModelStageRequest) -> ModelVersion:
    """Ends the change of stage that waits; the version stays where it is."""
    return await _decided(call, request, approve=False)


async def delete_version(call: Call, request: DeleteModelVersionRequest) -> ModelVersion:
    """Deletes a version that no alias names and that is not in production; its number is not given again."""
    row = await find_version(call, request.model, request.version)
    command = DeleteVersion(
        operation_id=new_id(call.doors.clock),
        version_id=row.id,
        reason=request.reason,
        by=call.caller.name,
    )
    return await _changed(call, row, command)


async def record_use(call: Call, request: RecordModelUseRequest) -> ModelVersion:
    """Records that something used a version, such as batch inference; lineage shows it."""
    row = await find_version(call, request.model, request.version)
    command = RecordConsumer(
        operation_id=new_id(call.doors.clock),
        consumer_id=derived_id(row.id, request.kind, request.reference),
        version_id=row.id,
        by=call.caller.name,
        **request.model_dump(include={"kind", "reference", "metadata"}),
    )
    return await _changed(call, row, command)


async def find_version(call: Call, model: str, version: str) -> Any:
    """Raises NotFound."""
    async with call.doors.database.tenant(call.tenant) as connection:
        return await version_in(connection, await model_in(connection, model), version)


async def _decided(call: Call, request: DecideModelStageRequest, *, approve: bool) -> ModelVersion:
    row = await find_version(call, request.model, request.version)
    command = DecideStage(
        operation_id=new_id(call.doors.clock),
        version_id=row.id,
        approve=approve,
        reason=request.reason,
        by=call.caller.name,
    )
    return await _changed(call, row, command)


async def _changed(call: Call, row: Any, command: Command) -> ModelVersion:
    return render_version(
        await carried_out(
            call, command, row.id, lambda connection: models.load_version_by_id(connection, row.id)
        )
    )


async def _hashes(call: Call, version: ModelVersion) -> dict[str, str]:
    question = ListCheckpoints(checkpoint_id=CheckpointId(version.checkpoint), limit=1)
    found = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    return {file.path: file.sha256 for one in found.checkpoints for file in one.files}

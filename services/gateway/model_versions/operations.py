"""Operations of model versions. Changes are commands to the registry; reads use its announcements."""

from uuid import UUID

from pydantic import JsonValue
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.checkpoints.find import check_visible, download_files
from services.gateway.checkpoints.schema import Download
from services.gateway.model_versions.comparison import differences
from services.gateway.model_versions.render import facts_of, render_version
from services.gateway.model_versions.schema import (
    CompareModelVersionsRequest,
    CreateModelVersionRequest,
    DecideModelStageRequest,
    DeleteModelVersionRequest,
    Difference,
    EditModelVersionRequest,
    ListModelVersionsRequest,
    ModelComparison,
    ModelVersion,
    ModelVersionPage,
    ModelVersionRequest,
    RecordModelUseRequest,
    SetModelStageRequest,
)
from services.gateway.models import store as models
from services.gateway.models.find import find_version, model_in, version_in
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.sending import CommandTarget, carried_out, outcome_from_feed
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import (
    APPROVE_MODEL,
    AUDITED_READ,
    KEY,
    READ_MODEL,
    SAFE,
    WRITE_MODEL,
)
from services.gateway.platform.preconditions import guard
from shared.ids import CheckpointId, ModelId, VersionId, derived_id
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

VERSION = CommandTarget("version", models.load_version_by_id, render_version, ModelVersion)


async def create_version(call: Call, request: CreateModelVersionRequest) -> ModelVersion:
    """Register a saved checkpoint as the next version of a model."""
    await check_visible(call, request.checkpoint)

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        model = await model_in(connection, request.model)
        return CreateVersion(
            operation_id=operation_id,
            version_id=VersionId(operation_id),
            model_id=ModelId(model.id),
            checkpoint_id=CheckpointId(request.checkpoint),
            by=call.caller.name,
            **request.model_dump(exclude={"model", "checkpoint"}),
        )

    return await carried_out(call, request, order, VERSION)


async def list_versions(call: Call, request: ListModelVersionsRequest) -> ModelVersionPage:
    """List the versions of a model, newest first by default."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        model = await model_in(connection, request.model)
        found = await models.load_versions(connection, model.id, wanted)
    return ModelVersionPage(
        items=[render_version(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def get_version(call: Call, request: ModelVersionRequest) -> ModelVersion:
    """Show one version of a model with its lineage."""
    return render_version(await find_version(call, request.model, request.version))


async def download_version(call: Call, request: ModelVersionRequest) -> Download:
    """Get a download URL and the hash of each file of a version."""
    row = await find_version(call, request.model, request.version)
    return await download_files(call, UUID(row.last_event["checkpoint_id"]))


async def compare_versions(call: Call, request: CompareModelVersionsRequest) -> ModelComparison:
    """Compare two versions of a model: metrics, hyperparameters, data, code, signature and files."""
    base = render_version(await find_version(call, request.model, request.base))
    other = render_version(await find_version(call, request.model, request.other))
    found = differences(
        facts_of(base, await _hashes(call, base)), facts_of(other, await _hashes(call, other))
    )
    changed = [Difference.model_validate(one, from_attributes=True) for one in found]
    return ModelComparison(base=base, other=other, differences=changed)


async def edit_version(call: Call, request: EditModelVersionRequest) -> ModelVersion:
    """Edit the comment, notes or tags of a version. Its content cannot be changed."""
    return await _changed(call, request, EditVersion, **request.model_dump(exclude={"model", "version"}))


async def set_stage(call: Call, request: SetModelStageRequest) -> ModelVersion:
    """Move a version to a stage, or request the approvals that this requires."""
    return await _changed(call, request, SetStage, stage=request.stage.value, reason=request.reason)


async def approve_stage(call: Call, request: DecideModelStageRequest) -> ModelVersion:
    """Approve the pending stage change. The requester cannot approve it."""
    return await _changed(call, request, DecideStage, approve=True, reason=request.reason)


async def reject_stage(call: Call, request: DecideModelStageRequest) -> ModelVersion:
    """Reject the pending stage change. The version stays in its stage."""
    return await _changed(call, request, DecideStage, approve=False, reason=request.reason)


async def delete_version(call: Call, request: DeleteModelVersionRequest) -> ModelVersion:
    """Delete a version. Refused if an alias names it or it is in production. Its number is not reused."""
    return await _changed(call, request, DeleteVersion, reason=request.reason)


async def record_use(call: Call, request: RecordModelUseRequest) -> ModelVersion:
    """Record a use of a version, such as batch inference, in its lineage."""

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        row = await version_in(connection, await model_in(connection, request.model), request.version)
        return RecordConsumer(
            operation_id=operation_id,
            consumer_id=derived_id(row.id, request.kind, request.reference),
            version_id=row.id,
            by=call.caller.name,
            **request.model_dump(include={"kind", "reference", "metadata"}),
        )

    return await carried_out(call, request, order, VERSION)


async def _changed(
    call: Call, request: ModelVersionRequest, command: type[Command], **changes: JsonValue
) -> ModelVersion:
    """Send a command for the version that the request names."""

    async def order(connection: AsyncConnection, operation_id: UUID) -> Command:
        row = await version_in(connection, await model_in(connection, request.model), request.version)
        about = {"operation_id": operation_id, "version_id": row.id, "by": call.caller.name}
        return command.model_validate(about | changes | guard(call, render_version(row), row.version))

    return await carried_out(call, request, order, VERSION)


async def _hashes(call: Call, version: ModelVersion) -> dict[str, str]:
    question = ListCheckpoints(checkpoint_id=CheckpointId(version.checkpoint), limit=1)
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return {file.path: file.sha256 for one in found.checkpoints for file in one.files}


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateModelVersion", "POST", "/v1/models/{model}/versions", CreateModelVersionRequest, ModelVersion, WRITE_MODEL, KEY, create_version, status=201, outcome=outcome_from_feed(VERSION)),
    Operation("ListModelVersions", "GET", "/v1/models/{model}/versions", ListModelVersionsRequest, ModelVersionPage, READ_MODEL, SAFE, list_versions),
    Operation("GetModelVersion", "GET", "/v1/models/{model}/versions/{version}", ModelVersionRequest, ModelVersion, READ_MODEL, SAFE, get_version),
    Operation("EditModelVersion", "PATCH", "/v1/models/{model}/versions/{version}", EditModelVersionRequest, ModelVersion, WRITE_MODEL, KEY, edit_version, outcome=outcome_from_feed(VERSION), conditional=True),
    Operation("DeleteModelVersion", "DELETE", "/v1/models/{model}/versions/{version}", DeleteModelVersionRequest, ModelVersion, WRITE_MODEL, KEY, delete_version, outcome=outcome_from_feed(VERSION), conditional=True),
    Operation("DownloadModelVersion", "GET", "/v1/models/{model}/versions/{version}/files", ModelVersionRequest, Download, READ_MODEL, SAFE, download_version, audited=AUDITED_READ, waits=True),
    Operation("CompareModelVersions", "GET", "/v1/models/{model}/compare", CompareModelVersionsRequest, ModelComparison, READ_MODEL, SAFE, compare_versions, waits=True),
    Operation("SetModelStage", "POST", "/v1/models/{model}/versions/{version}/stage", SetModelStageRequest, ModelVersion, WRITE_MODEL, KEY, set_stage, outcome=outcome_from_feed(VERSION), conditional=True),
    Operation("ApproveModelStage", "POST", "/v1/models/{model}/versions/{version}/stage/approve", DecideModelStageRequest, ModelVersion, APPROVE_MODEL, KEY, approve_stage, outcome=outcome_from_feed(VERSION), conditional=True),
    Operation("RejectModelStage", "POST", "/v1/models/{model}/versions/{version}/stage/reject", DecideModelStageRequest, ModelVersion, APPROVE_MODEL, KEY, reject_stage, outcome=outcome_from_feed(VERSION), conditional=True),
    Operation("RecordModelUse", "POST", "/v1/models/{model}/versions/{version}/uses", RecordModelUseRequest, ModelVersion, WRITE_MODEL, KEY, record_use, outcome=outcome_from_feed(VERSION)),
)
# fmt: on

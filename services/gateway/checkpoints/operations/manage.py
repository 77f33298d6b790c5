"""Edit, delete, verify and collect checkpoints, and limit storage. The registry executes these requests (decision 0109)."""

from muster.errors import NotFound
from services.gateway.checkpoints import store as checkpoint_store
from services.gateway.checkpoints.find import visible_id
from services.gateway.checkpoints.render import render_checkpoint_whole
from services.gateway.checkpoints.schema import (
    Checkpoint,
    CheckpointRequest,
    CollectCheckpointsRequest,
    Collected,
    CollectedCheckpoint,
    EditCheckpointRequest,
    RetentionPolicy,
    SetStorageLimitRequest,
    Storage,
    StorageLimit,
    VerificationAsked,
    VerifyCheckpointsRequest,
    WorkspaceStorage,
)
from services.gateway.experiments.find import find_experiment
from services.gateway.platform.auth.grants import TENANT_SCOPE, Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.platform.schema import Empty
from services.gateway.tenants.find import named_tenant
from services.gateway.trials.store import load_trial_numbers
from shared.ids import CheckpointId, ExperimentId
from shared.messages.checkpoints import (
    CollectCheckpoints,
    DeleteCheckpoint,
    EditCheckpoint,
    GetStorage,
    ListCheckpoints,
    VerifyCheckpoints,
)
from shared.messages.limits import StorageLimitChanged


async def edit_checkpoint(call: Call, request: EditCheckpointRequest) -> Checkpoint:
    """Edit the metadata of a checkpoint, key by key."""
    found = CheckpointId(await visible_id(call, request.checkpoint))
    await _note_before(call, found)
    question = EditCheckpoint(checkpoint_id=found, metadata=request.metadata)
    return render_checkpoint_whole(await call.ask_for_change(question))


async def delete_checkpoint(call: Call, request: CheckpointRequest) -> Checkpoint:
    """Delete a checkpoint. Refused if it is registered as a model version or in use."""
    found = CheckpointId(await visible_id(call, request.checkpoint))
    await _note_before(call, found)
    return render_checkpoint_whole(await call.ask_for_change(DeleteCheckpoint(checkpoint_id=found)))


async def verify_checkpoint(call: Call, request: CheckpointRequest) -> VerificationAsked:
    """Start to verify a checkpoint: its files are read from the store and compared with their hashes."""
    found = CheckpointId(await visible_id(call, request.checkpoint))
    return await _verify(call, VerifyCheckpoints(checkpoint_id=found))


async def verify_checkpoints(call: Call, request: VerifyCheckpointsRequest) -> VerificationAsked:
    """Start to verify all saved checkpoints of an experiment."""
    experiment = await find_experiment(call, request.experiment)
    return await _verify(
        call,
        VerifyCheckpoints(experiment_id=ExperimentId(experiment.id), is_waiting=request.waiting),
    )


async def collect_checkpoints(call: Call, request: CollectCheckpointsRequest) -> Collected:
    """Delete the checkpoints of an experiment that its retention policy does not keep, even while it runs. A dry run only lists them."""
    experiment = await find_experiment(call, request.experiment)
    question = CollectCheckpoints(
        experiment_id=ExperimentId(experiment.id), **request.model_dump(exclude={"experiment"})
    )
    found = await call.ask_for_change(question, call.dependencies.timeouts.plan_s)
    async with call.read() as connection:
        names = await load_trial_numbers(connection, {one.trial_id for one in found.checkpoints})
    return Collected(
        policy=RetentionPolicy.model_validate(found.policy, from_attributes=True),
        dry_run=found.dry_run,
        count=found.count,
        size_bytes=found.size_bytes,
        freed_bytes=found.freed_bytes,
        checkpoints=[
            CollectedCheckpoint(
                id=one.checkpoint_id,
                trial=one.trial_id,
                trial_number=names[one.trial_id][1] if one.trial_id in names else None,
                step=one.step,
                size_bytes=one.size_bytes,
            )
            for one in found.checkpoints
        ],
        kept=found.kept,
    )


async def get_storage(call: Call, request: Empty) -> Storage:
    """Show how many bytes the caller's tenant and its workspaces store, and their limits. Covers only the workspaces that the caller can see."""
    found = await call.dependencies.bus.ask(GetStorage(), call.tenant, call.dependencies.timeouts.query_s)
    grants = call.caller.grants
    seen = [
        WorkspaceStorage(**one.model_dump())
        for one in found.workspaces
        if grants.holds(Permission.EXPERIMENT_READ, Scope(one.workspace))
    ]
    if grants.holds(Permission.EXPERIMENT_READ, TENANT_SCOPE):
        return Storage(used_bytes=found.used_bytes, maximum_bytes=found.maximum_bytes, workspaces=seen)
    bounds = [one.maximum_bytes for one in seen if one.maximum_bytes is not None]
    return Storage(
        used_bytes=sum(one.used_bytes for one in seen),
        maximum_bytes=sum(bounds) if bounds and len(bounds) == len(seen) else None,
        workspaces=seen,
    )


async def set_storage_limit(call: Call, request: SetStorageLimitRequest) -> StorageLimit:
    """Set how many bytes a tenant may store. Data that is already stored stays."""
    tenant, name = await named_tenant(call, request.tenant)
    call.also_audit_in(tenant)
    async with call.site_transaction() as unit:
        before = await checkpoint_store.load_storage_limit(unit.connection, tenant)
        version = await checkpoint_store.save_storage_limit(unit.connection, tenant, request.maximum_bytes)
        changed = StorageLimitChanged(limit_id=tenant, version=version, maximum_bytes=request.maximum_bytes)
        unit.emit(changed, tenant=tenant)
        limit = StorageLimit(tenant=name, maximum_bytes=request.maximum_bytes)
        before_limit = (
            StorageLimit(tenant=name, maximum_bytes=before.maximum_bytes) if before is not None else None
        )
        call.set_audit_fields(before=before_limit, after=limit, entity=f"storage-limit/{name}")
    return limit


async def _note_before(call: Call, checkpoint: CheckpointId) -> None:
    """Record the checkpoint in the audit log before the change, and check the caller's `If-Match`."""
    page = await call.ask_if_available(ListCheckpoints(checkpoint_id=checkpoint, limit=1))
    before = render_checkpoint_whole(page.checkpoints[0]) if page and page.checkpoints else None
    if before is None and call.if_match is not None:
        raise NotFound(f"checkpoint {checkpoint}")
    if before is not None:
        check_unchanged(call, before)
        call.set_audit_fields(before=before)


async def _verify(call: Call, question: VerifyCheckpoints) -> VerificationAsked:
    found = await call.ask_for_change(question)
    return VerificationAsked(checkpoints=found.checkpoints, files=found.files, size_bytes=found.size_bytes)

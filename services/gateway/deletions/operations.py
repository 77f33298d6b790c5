"""Delete experiments, workspaces and tenants. The `runner` and the other services execute the deletions."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.deletions import store
from services.gateway.deletions.core import DELETION, DeletionStage
from services.gateway.deletions.runner import deletion_event, new_deletion_row
from services.gateway.deletions.schema import (
    DeleteExperimentRequest,
    DeleteTenantRequest,
    DeleteWorkspaceRequest,
    Deletion,
)
from services.gateway.experiments.find import experiment_in
from services.gateway.experiments.render import render_experiment
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.outcomes import TenantOutcome
from services.gateway.platform.commands.schema import OperationState
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.events import store as events
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, POLICY, WRITE_EXPERIMENT
from services.gateway.roles.schema import Tenant
from shared.bus import Unit
from shared.ids import DEFAULT_TENANT, TenantId, derived_id, new_id

_MAX_LISTED = 5


async def delete_experiment(call: Call, request: DeleteExperimentRequest) -> Deletion:
    """Delete an experiment with its trials, metrics, logs and checkpoints. Running trials are killed first."""
    async with call.read() as connection:
        row = await experiment_in(connection, request.experiment)
        registered = await store.load_registered(connection, experiment_id=row.id)
    _refuse_registered(registered, f"experiment {row.number}", request.force)
    call.set_audit_fields(before=render_experiment(row), entity=f"experiment/{row.number}")
    async with call.transaction() as unit:
        await events.lock_feed(unit.connection, call.tenant)
        earlier = await store.load_open(unit.connection, row.id)
        deletion = earlier.id if earlier else new_id(call.dependencies.clock)
        if earlier is None:
            given = {"by": call.caller.name, "is_forced": request.force, "parent": None}
            await store.insert_deletion(unit.connection, new_deletion_row(row, deletion, unit.now, given))
            await store.mark_experiment(unit.connection, row.id, deleting=True)
            await call.dependencies.publisher.publish(unit, call.tenant, [deletion_event(row, "deleting")])
    return await _carried_out(call, deletion)


async def delete_workspace(call: Call, request: DeleteWorkspaceRequest) -> Deletion:
    """Delete all experiments and models of a workspace, and its policies, role bindings and limits."""
    name = request.workspace
    is_let = call.caller.grants.holds(Permission.POLICY_MANAGE, Scope(name))
    async with call.as_reader().read() as connection:
        registered = await store.load_registered(connection, workspace=name)
        if not is_let or not await store.has_workspace(connection, name):
            raise NotFound(f"workspace {name}", "a workspace exists only while it contains something")
    _refuse_registered(registered, f"workspace {name}", request.force)
    call.set_audit_fields(entity=f"workspace/{name}")
    target = derived_id(call.tenant, "workspace", name)
    values = {"tenant": call.tenant, "scope": "workspace", "target": target, "name": name}
    async with call.transaction() as unit:
        deletion = await _begin(call, unit, {**values, "is_forced": request.force})
    return await _carried_out(call, deletion)


async def delete_tenant(call: Call, request: DeleteTenantRequest) -> Deletion:
    """Delete everything that a tenant has, except its audit log. Its users and tokens lose access."""
    async with call.site_transaction() as unit:
        row = await access.load_tenant(unit.connection, request.tenant)
        if row is None:
            raise NotFound(f"tenant {request.tenant}", "`muster tenant list` shows all tenants")
        if row.id in (DEFAULT_TENANT, call.tenant):
            why = "it is your own" if row.id == call.tenant else "it holds the site operator's account"
            raise Conflict("tenant_needed", f"tenant {row.name} cannot be deleted: {why}", "tenant")
        values = {"tenant": call.tenant, "scope": "tenant", "target": row.id, "name": row.name}
        deletion = await _begin(call, unit, {**values, "is_forced": True})
        await store.mark_tenant(unit.connection, row.id)
        call.also_audit_in(TenantId(row.id))
        call.set_audit_fields(before=Tenant.model_validate(row._mapping))
    return await _carried_out(call, deletion)


async def find_finished_deletion(connection: AsyncConnection, row: Any) -> Deletion | None:
    """Return the finished deletion of an operation; None while it runs."""
    found = await store.load_deletion(connection, row.id)
    return render_deletion(found) if found is not None and found.stage == DeletionStage.DONE else None


DELETION_OUTCOME = TenantOutcome(find_finished_deletion)


def render_deletion(row: Any) -> Deletion:
    """Convert a deletion row to the API resource."""
    final = {DeletionStage.DONE: OperationState.DONE, DeletionStage.REFUSED: OperationState.REFUSED}
    return Deletion(
        id=row.id,
        scope=row.scope,
        name=row.name,
        state=final.get(DeletionStage(row.stage), OperationState.RUNNING),
        stage=row.stage,
        created_at=row.created_at,
        ended_at=row.ended_at,
    )


async def _begin(call: Call, unit: Unit, values: Mapping[str, Any]) -> UUID:
    """Return the id of the target's open deletion, or start a new one."""
    earlier = await store.load_open(unit.connection, values["target"])
    if earlier is not None:
        known: UUID = earlier.id
        return known
    deletion = new_id(call.dependencies.clock)
    start = {"stage": DELETION.initial, "pending_owners": [], "created_at": unit.now, "changed_at": unit.now}
    about = {"id": deletion, "by": call.caller.name, "parent": None}
    await store.insert_deletion(unit.connection, {**values, **start, **about})
    return deletion


async def _carried_out(call: Call, deletion: UUID) -> Deletion:
    """Wait for the deletion. Raises StillWorking with the operation if it takes longer than the request waits."""
    call.dependencies.wake_deletions()

    async def look(connection: AsyncConnection) -> Any:
        row = await store.load_deletion(connection, deletion)
        return row if row is not None and row.stage == DeletionStage.DONE else None

    found = await wait_for(call, deletion, look)
    if found is None:
        async with call.read() as connection:
            now = await store.load_deletion(connection, deletion)
        raise await deferred(call, deletion, present=render_deletion(now))
    return render_deletion(found)


def _refuse_registered(registered: Any, what: str, force: bool) -> None:
    if not registered or force:
        return
    names = [f"version {row.number} of model '{row.name}'" for row in registered[:_MAX_LISTED]]
    more = " and more" if len(registered) > _MAX_LISTED else ""
    raise Conflict(
        "experiment_registered",
        f"{what} cannot be deleted: model versions are registered from it: {', '.join(names)}{more}",
        hint="delete these versions first, or set `force` to delete them too",
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("DeleteExperiment", "DELETE", "/v1/experiments/{experiment}", DeleteExperimentRequest, Deletion, WRITE_EXPERIMENT, NATURAL, delete_experiment, outcome=DELETION_OUTCOME),
    Operation("DeleteWorkspace", "DELETE", "/v1/workspaces/{workspace}", DeleteWorkspaceRequest, Deletion, POLICY, NATURAL, delete_workspace, outcome=DELETION_OUTCOME),
    Operation("DeleteTenant", "DELETE", "/v1/tenants/{tenant}", DeleteTenantRequest, Deletion, Permission.TENANT_MANAGE, NATURAL, delete_tenant, outcome=DELETION_OUTCOME),
)
# fmt: on

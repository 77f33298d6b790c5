"""Operations on quotas. The gateway enforces them, except stored bytes, which the registry enforces.

Operators of the site set the quotas of tenants; admins of a tenant set those of its workspaces (decision 0139).
"""

from collections.abc import Mapping
from typing import Any

from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import TENANT_SCOPE, Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import CLUSTER, MANAGE, NATURAL, POLICY, SAFE
from services.gateway.platform.schema import Empty
from services.gateway.quotas import store
from services.gateway.quotas.schema import (
    SetTenantQuotaRequest,
    SetWorkspaceQuotaRequest,
    WorkQuota,
    WorkQuotas,
)
from services.gateway.tenants.find import named_tenant
from shared.bus import Unit
from shared.ids import TenantId, derived_id
from shared.messages.limits import WorkspaceStorageLimitChanged

_LIMITS = ("max_experiments", "requests_per_s", "max_stored_bytes")


async def list_quotas(call: Call, request: Empty) -> WorkQuotas:
    """List the quotas of the caller's tenant and its workspaces. Operators see the quotas of all tenants."""
    if call.caller.is_site_operator:
        return await _list_of_site(call)
    async with call.read() as connection:
        rows = await store.load_quotas(connection)
    grants = call.caller.grants
    seen = [
        row
        for row in rows
        if not row.workspace or grants.holds(Permission.CLUSTER_READ, Scope(row.workspace))
    ]
    return WorkQuotas(items=[_render(row._mapping, call.caller.tenant_name) for row in seen])


async def set_tenant_quota(call: Call, request: SetTenantQuotaRequest) -> WorkQuota:
    """Set the quota of a tenant. Experiments that are already open are not affected."""
    tenant, name = await named_tenant(call, request.tenant)
    call.also_audit_in(tenant)
    async with call.site_transaction() as unit:
        limits = {"max_stored_bytes": None, **request.model_dump(include={*_LIMITS})}
        values, _ = await _save(call, unit, tenant, "", limits)
        call.set_audit_fields(after=_render(values, name), entity=f"quota/{name}")
    return _render(values, name)


async def set_workspace_quota(call: Call, request: SetWorkspaceQuotaRequest) -> WorkQuota:
    """Set the quota of a workspace of the caller's tenant. Open experiments and stored data are not affected."""
    call.check_scope(Permission.POLICY_MANAGE, TENANT_SCOPE)
    async with call.transaction() as unit:
        limits = request.model_dump(include={*_LIMITS})
        values, version = await _save(call, unit, call.tenant, request.workspace, limits)
        changed = WorkspaceStorageLimitChanged(
            limit_id=derived_id(call.tenant, "workspace_storage", request.workspace),
            version=version,
            workspace=request.workspace,
            maximum_bytes=request.max_stored_bytes,
        )
        unit.emit(changed, tenant=call.tenant)
        quota = _render(values, call.caller.tenant_name)
        call.set_audit_fields(after=quota, entity=f"quota/{request.workspace}")
    warnings = await warn_unused_workspace(call, call.tenant, request.workspace)
    return quota.model_copy(update={"warnings": warnings})


async def _list_of_site(call: Call) -> WorkQuotas:
    async with call.dependencies.database.system() as connection:
        rows = await store.load_quotas(connection)
        names = await access.load_tenant_names(connection, {TenantId(row.tenant) for row in rows})
    own = call.caller.grants.holds(Permission.EXPERIMENT_READ, TENANT_SCOPE)
    visible = [row for row in rows if not row.workspace or (own and row.tenant == call.tenant)]
    return WorkQuotas(items=[_render(row._mapping, names[TenantId(row.tenant)]) for row in visible])


async def _save(
    call: Call, unit: Unit, tenant: TenantId, workspace: str, limits: Mapping[str, Any]
) -> tuple[dict[str, Any], int]:
    """Save a quota. Return its values and its version."""
    before = await store.load_quota(unit.connection, tenant, workspace)
    if before is not None:
        call.set_audit_fields(before={name: before._mapping[name] for name in _LIMITS})
    who = {"tenant": tenant, "workspace": workspace, "changed_at": unit.now, "by": call.caller.name}
    values = {**limits, **who}
    return values, await store.save_quota(unit.connection, values)


def _render(values: Any, tenant: str) -> WorkQuota:
    names = (*_LIMITS, "changed_at", "by")
    return WorkQuota(
        tenant=tenant, workspace=values["workspace"] or None, **{name: values[name] for name in names}
    )


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListQuotas", "GET", "/v1/quotas", Empty, WorkQuotas, CLUSTER, SAFE, list_quotas),
    Operation("SetTenantQuota", "PUT", "/v1/quotas/tenant", SetTenantQuotaRequest, WorkQuota, MANAGE, NATURAL, set_tenant_quota),
    Operation("SetWorkspaceQuota", "PUT", "/v1/quotas/workspace", SetWorkspaceQuotaRequest, WorkQuota, POLICY, NATURAL, set_workspace_quota),
)
# fmt: on

"""Limits of tenants and workspaces in pools: stored here, enforced by the scheduler."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments.workspace_warnings import warn_unused_workspace
from services.gateway.platform.auth.grants import TENANT_SCOPE
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import choose_page, read_wanted
from services.gateway.pools import store as limits
from services.gateway.pools.find import view_of
from services.gateway.pools.schema import (
    Limit,
    LimitPage,
    ListLimitsRequest,
    SetLimitRequest,
    SetWorkspaceLimitRequest,
)
from services.gateway.tenants.find import named_tenant
from shared.bus import Unit
from shared.ids import SITE, TenantId, derived_id
from shared.messages.limits import LimitsChanged


async def list_limits(call: Call, request: ListLimitsRequest) -> LimitPage:
    """List the slot limits of the caller's tenant and its workspaces, by pool unless `sort` is set. Operators see all tenants."""
    wanted = read_wanted(call, request)
    rows, names = await _load(call, request.pool)
    every = [_render(row._mapping, names.get(row.tenant, str(row.tenant))) for row in rows]
    items, cursor = choose_page(call, request, wanted, every)
    return LimitPage(items=items, next_cursor=cursor)


async def set_limit(call: Call, request: SetLimitRequest) -> Limit:
    """Set the slot limit of a tenant or a workspace in a pool."""
    _check_maximum(request.guaranteed, request.maximum)
    await view_of(call, request.pool)
    tenant, name = await named_tenant(call, request.tenant)
    call.also_audit_in(tenant)
    async with call.site_transaction() as unit:
        limit = await _save(call, unit, tenant, name, _values(request, tenant, request.workspace))
    warnings = await warn_unused_workspace(call, tenant, request.workspace)
    return limit.model_copy(update={"warnings": warnings})


async def set_workspace_limit(call: Call, request: SetWorkspaceLimitRequest) -> Limit:
    """Set the slot limit of a workspace of the caller's tenant in a pool, within the tenant's own limit."""
    call.check_scope(Permission.POLICY_MANAGE, TENANT_SCOPE)
    _check_maximum(request.guaranteed, request.maximum)
    await view_of(call, request.pool)
    # Limits are published for the site, not for a tenant.
    async with call.site_transaction() as unit:
        # The lock keeps two concurrent requests from assigning the same guarantee.
        await limits.lock_limits(unit.connection, call.tenant)
        known = await limits.load_limits(unit.connection, request.pool)
        _check_within(request, [row for row in known if row.tenant == call.tenant])
        values = _values(request, call.tenant, request.workspace)
        limit = await _save(call, unit, call.tenant, call.caller.tenant_name, values)
    warnings = await warn_unused_workspace(call, call.tenant, request.workspace)
    return limit.model_copy(update={"warnings": warnings})


def _check_maximum(guaranteed: int, maximum: int | None) -> None:
    if maximum is not None and maximum < guaranteed:
        raise Rejected(
            "invalid_request",
            f"the maximum ({maximum}) is below the guarantee ({guaranteed})",
            "maximum",
            "raise `maximum` or lower `guaranteed`",
        )


def _check_within(request: SetWorkspaceLimitRequest, known: Sequence[Any]) -> None:
    """Raise Rejected if the workspace would exceed the tenant's maximum or guarantee."""
    own = next((row for row in known if not row.workspace), None)
    most = own.maximum if own is not None else None
    if most is not None and request.maximum is not None and request.maximum > most:
        raise Rejected(
            "beyond_tenant", f"the tenant's maximum is {most} slots in pool {request.pool}", "maximum"
        )
    given = sum(row.guaranteed for row in known if row.workspace not in ("", request.workspace))
    whole = own.guaranteed if own is not None else 0
    if request.guaranteed and given + request.guaranteed > whole:
        raise Rejected(
            "beyond_tenant",
            f"the tenant's guarantee in pool {request.pool} is {whole} slots, of which its other workspaces have {given}",
            "guaranteed",
            "lower `guaranteed`, or ask the operators of the site for a larger guarantee",
        )


def _values(
    request: SetLimitRequest | SetWorkspaceLimitRequest, tenant: TenantId, workspace: str | None
) -> dict[str, Any]:
    asked = request.model_dump(include={"pool", "guaranteed", "maximum", "weight"})
    return {**asked, "tenant": tenant, "workspace": workspace or ""}


async def _save(call: Call, unit: Unit, tenant: TenantId, name: str, values: dict[str, Any]) -> Limit:
    """Store a limit, publish it to the scheduler, and add the previous limit to the audit record."""
    before = await limits.load_limit(unit.connection, values)
    version = await limits.save_limit(unit.connection, values)
    published = {key: values[key] for key in ("pool", "guaranteed", "maximum", "weight")}
    changed = LimitsChanged(
        limit_id=_id_of(values),
        version=version,
        tenant=tenant,
        workspace=values["workspace"] or None,
        **published,
    )
    unit.emit(changed, tenant=SITE)
    previous = _render(dict(before._mapping), name) if before is not None else None
    limit = _render(values, name)
    call.set_audit_fields(before=previous, after=limit, entity=f"limit/{values['pool']}/{name}")
    return limit


async def _load(call: Call, pool: str | None) -> tuple[Sequence[Any], Mapping[TenantId, str]]:
    if not call.caller.is_site_operator:
        async with call.read() as connection:
            return await limits.load_limits(connection, pool), {call.tenant: call.caller.tenant_name}
    async with call.dependencies.database.system() as connection:
        rows = await limits.load_limits(connection, pool)
        return rows, await access.load_tenant_names(connection, {TenantId(row.tenant) for row in rows})


def _id_of(values: Mapping[str, Any]) -> UUID:
    return derived_id(values["tenant"], "limit", values["pool"], values["workspace"])


def _render(values: Mapping[str, Any], tenant: str) -> Limit:
    return Limit(
        id=_id_of(values),
        pool=values["pool"],
        tenant=tenant,
        workspace=values["workspace"] or None,
        guaranteed=values["guaranteed"],
        maximum=values["maximum"],
        weight=values["weight"],
    )

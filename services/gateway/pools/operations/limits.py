"""What tenants and workspaces may hold in pools: written here, told to the scheduler, which rules by it."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from muster.errors import Rejected
from services.gateway.experiments.workspaces import warn_unused_workspace
from services.gateway.platform.auth.grants import TENANT_SCOPE
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import tokens as access
from services.gateway.platform.call import Call
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
    """Lists what the caller's tenant and its workspaces may hold, by pool, tenant and workspace or as they are sorted; an operator sees every tenant's."""
    wanted = read_wanted(call, request)
    rows, names = await _load(call, request.pool)
    every = [_render(row._mapping, names.get(row.tenant, str(row.tenant))) for row in rows]
    items, cursor = choose_page(call, request, wanted, every)
    return LimitPage(items=items, next_cursor=cursor)


async def set_limit(call: Call, request: SetLimitRequest) -> Limit:
    """Says what a tenant, or a workspace of one, may hold in a pool, from now on."""
    _check_maximum(request.guaranteed, request.maximum)
    await view_of(call, request.pool)
    tenant, name = await named_tenant(call, request.tenant)
    call.concerns(tenant)
    async with call.site_transaction() as unit:
        limit = await _save(call, unit, tenant, name, _values(request, tenant, request.workspace))
    warnings = await warn_unused_workspace(call, tenant, request.workspace)
    return limit.model_copy(update={"warnings": warnings})


async def set_workspace_limit(call: Call, request: SetWorkspaceLimitRequest) -> Limit:
    """Says what a workspace of the caller's tenant may hold in a pool, from now on, within what the tenant may."""
    call.check_place(Permission.POLICY_MANAGE, TENANT_SCOPE)
    _check_maximum(request.guaranteed, request.maximum)
    await view_of(call, request.pool)
    # The scheduler is told in the site's name, as of all limits.
    async with call.site_transaction() as unit:
        # Held until the end: of two who hand out the same guarantee one comes second.
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
            f"the maximum ({maximum}) is below what is guaranteed ({guaranteed})",
            "maximum",
            "raise the maximum, or guarantee less",
        )


def _check_within(request: SetWorkspaceLimitRequest, known: Sequence[Any]) -> None:
    """Raises Rejected where a workspace would have more than its tenant has to give."""
    own = next((row for row in known if not row.workspace), None)
    most = own.maximum if own is not None else None
    if most is not None and request.maximum is not None and request.maximum > most:
        raise Rejected(
            "beyond_tenant", f"the tenant itself may hold {most} slots of {request.pool}", "maximum"
        )
    given = sum(row.guaranteed for row in known if row.workspace not in ("", request.workspace))
    whole = own.guaranteed if own is not None else 0
    if request.guaranteed and given + request.guaranteed > whole:
        raise Rejected(
            "beyond_tenant",
            f"{whole} slots of {request.pool} are guaranteed to the tenant, and {given} of them to its other workspaces",
            "guaranteed",
            "guarantee less, or ask who keeps the site for more",
        )


def _values(
    request: SetLimitRequest | SetWorkspaceLimitRequest, tenant: TenantId, workspace: str | None
) -> dict[str, Any]:
    asked = request.model_dump(include={"pool", "guaranteed", "maximum", "weight"})
    return {**asked, "tenant": tenant, "workspace": workspace or ""}


async def _save(call: Call, unit: Unit, tenant: TenantId, name: str, values: dict[str, Any]) -> Limit:
    """Keeps a limit, tells who enforces it, and the audit log what stood before."""
    before = await limits.load_limit(unit.connection, values)
    version = await limits.save_limit(unit.connection, values)
    told = {key: values[key] for key in ("pool", "guaranteed", "maximum", "weight")}
    changed = LimitsChanged(
        limit_id=_id_of(values),
        version=version,
        tenant=tenant,
        workspace=values["workspace"] or None,
        **told,
    )
    unit.emit(changed, tenant=SITE)
    stood = _render(dict(before._mapping), name) if before is not None else None
    limit = _render(values, name)
    call.note(before=stood, after=limit, entity=f"limit/{values['pool']}/{name}")
    return limit


async def _load(call: Call, pool: str | None) -> tuple[Sequence[Any], Mapping[TenantId, str]]:
    if not call.caller.keeps_site:
        async with call.read() as connection:
            return await limits.load_limits(connection, pool), {call.tenant: call.caller.tenant_name}
    async with call.doors.database.system() as connection:
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

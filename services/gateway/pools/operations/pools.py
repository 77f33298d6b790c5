"""Operations on pools: read them, and change their rules while work runs."""

from typing import Any

from pydantic import BaseModel

from muster.errors import Rejected
from services.gateway.cluster.find import load_cluster
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred, unless_silent
from services.gateway.platform.commands.outcomes import SiteOutcome
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.lists.paging import choose_page, read_wanted
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.pools.find import view_of
from services.gateway.pools.render import render_pool
from services.gateway.pools.schema import EditPoolRequest, ListPoolsRequest, Pool, PoolPage, PoolRequest
from services.gateway.tenants.find import named_tenant
from shared.ids import SITE, TenantId, new_id
from shared.messages.pools import ClusterView, EditPool, PoolRules

_REMOVALS = {
    "no_ageing": "ageing_s",
    "no_max_preemptions": "max_preemptions",
    "no_quantum": "quantum_s",
    "no_topology": "topology",
}


class DesiredPoolRules(BaseModel):
    """The desired rules of a pool."""

    pool: str
    rules: PoolRules

    def result_in(self, view: ClusterView) -> Pool | None:
        """Return the pool once it has these rules, else None."""
        now = next((one for one in view.pools if one.pool == self.pool), None)
        return render_pool(now) if now is not None and now.rules == self.rules else None


def _ruled(desired_state: Any, view: ClusterView) -> Pool | None:
    return DesiredPoolRules.model_validate(desired_state).result_in(view)


POOL_RULES_OUTCOME = SiteOutcome(_ruled)


async def list_pools(call: Call, request: ListPoolsRequest) -> PoolPage:
    """List the pools, by name unless `sort` is set."""
    wanted = read_wanted(call, request)
    view = await load_cluster(call)
    items, cursor = choose_page(call, request, wanted, [render_pool(pool) for pool in view.pools])
    return PoolPage(items=items, next_cursor=cursor)


async def get_pool(call: Call, request: PoolRequest) -> Pool:
    """Get one pool and its scheduling rules."""
    return render_pool(await view_of(call, request.pool))


async def edit_pool(call: Call, request: EditPoolRequest) -> Pool:
    """Change a pool's rules for queue order, preemption and placement. They apply at once to waiting and running work."""
    before = await view_of(call, request.pool)
    check_unchanged(call, render_pool(before))
    tenant = (await named_tenant(call, request.tenant))[0] if request.tenant else None
    rules = _changed(before.rules, request, tenant)
    call.set_audit_fields(before=render_pool(before), entity=f"pool/{before.pool}")
    command = EditPool(operation_id=new_id(call.dependencies.clock), pool=before.pool, rules=rules)
    async with call.site_transaction() as unit:
        unit.emit(command, tenant=SITE)

    desired_state = DesiredPoolRules(pool=before.pool, rules=rules)

    async def ask() -> Pool | None:
        return desired_state.result_in(await load_cluster(call))

    found = await wait_for(call, command.operation_id, ask=ask, sent_for=SITE)
    if found is None:
        now = await unless_silent(view_of(call, request.pool))
        present = render_pool(now) if now is not None else None
        raise await deferred(call, command.operation_id, present=present, desired_state=desired_state)
    return found


def _changed(before: PoolRules, request: EditPoolRequest, tenant: TenantId | None) -> PoolRules:
    given: dict[str, object] = request.model_dump(exclude={"pool"}, exclude_defaults=True)
    if tenant is not None:
        given["tenant"] = tenant
        if not (before.trusted if request.trusted is None else request.trusted):
            raise Rejected(
                "invalid_request",
                f"pool {request.pool} serves all tenants; only a trusted pool serves a single one",
                "tenant",
                "set `trusted` too",
            )
    if not given:
        raise Rejected("invalid_request", "the request changes nothing", hint="set at least one rule")
    for removal, rule in _REMOVALS.items():
        if given.pop(removal, False):
            if rule in given:
                raise Rejected(
                    "invalid_request",
                    f"`{rule}` and `{removal}` cannot be set together",
                    removal,
                    "leave one of them out",
                )
            given[rule] = () if rule == "topology" else None
    return PoolRules.model_validate(before.model_dump() | given)

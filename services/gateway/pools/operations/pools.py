"""Pools: read, and their rules changed while things run."""

from typing import Any

from pydantic import BaseModel

from muster.errors import Rejected
from services.gateway.cluster.find import load_cluster
from services.gateway.platform.call import Call
from services.gateway.platform.commands.long_operation_answers import deferred, unless_silent
from services.gateway.platform.commands.outcomes import SiteOutcome
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.lists.paging import choose_page, read_wanted
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.pools.find import view_of
from services.gateway.pools.render import render_pool
from services.gateway.pools.schema import EditPoolRequest, ListPoolsRequest, Pool, PoolPage, PoolRequest
from shared.ids import SITE, new_id
from shared.messages.pools import ClusterView, EditPool, PoolRules

_TAKEN_AWAY = {
    "no_ageing": "ageing_s",
    "no_max_preemptions": "max_preemptions",
    "no_quantum": "quantum_s",
    "no_topology": "topology",
}


class DesiredPoolRules(BaseModel):
    """A pool that is to have these rules."""

    pool: str
    rules: PoolRules

    def seen_in(self, view: ClusterView) -> Pool | None:
        """The pool once it has them; None before."""
        now = next((one for one in view.pools if one.pool == self.pool), None)
        return render_pool(now) if now is not None and now.rules == self.rules else None


def _ruled(wanted: Any, view: ClusterView) -> Pool | None:
    return DesiredPoolRules.model_validate(wanted).seen_in(view)


POOL_RULES_OUTCOME = SiteOutcome(_ruled)


async def list_pools(call: Call, request: ListPoolsRequest) -> PoolPage:
    """Lists the pools by name, or as they are sorted."""
    wanted = read_wanted(call, request)
    view = await load_cluster(call)
    items, cursor = choose_page(call, request, wanted, [render_pool(pool) for pool in view.pools])
    return PoolPage(items=items, next_cursor=cursor)


async def get_pool(call: Call, request: PoolRequest) -> Pool:
    """Shows one pool and how it is shared."""
    return render_pool(await view_of(call, request.pool))


async def edit_pool(call: Call, request: EditPoolRequest) -> Pool:
    """Changes who goes first in a pool, who may be asked for slots, and how soon; at once, for all that waits and runs."""
    before = await view_of(call, request.pool)
    check_unchanged(call, render_pool(before))
    rules = _changed(before.rules, request)
    call.note(before=render_pool(before), entity=f"pool/{before.pool}")
    command = EditPool(operation_id=new_id(call.doors.clock), pool=before.pool, rules=rules)
    async with call.site_transaction() as unit:
        unit.emit(command, tenant=SITE)

    wanted = DesiredPoolRules(pool=before.pool, rules=rules)

    async def ask() -> Pool | None:
        return wanted.seen_in(await load_cluster(call))

    found = await wait_for(call, command.operation_id, ask=ask, sent_for=SITE)
    if found is None:
        now = await unless_silent(view_of(call, request.pool))
        present = render_pool(now) if now is not None else None
        raise await deferred(call, command.operation_id, present=present, wanted=wanted)
    return found


def _changed(before: PoolRules, request: EditPoolRequest) -> PoolRules:
    given: dict[str, object] = request.model_dump(exclude={"pool"}, exclude_defaults=True)
    if not given:
        raise Rejected("invalid_request", "nothing is to be changed", hint="give at least one of the rules")
    for taken, rule in _TAKEN_AWAY.items():
        if given.pop(taken, False):
            if rule in given:
                raise Rejected(
                    "invalid_request", f"{rule} is given and taken away at once", taken, "leave one out"
                )
            given[rule] = () if rule == "topology" else None
    return PoolRules.model_validate(before.model_dump() | given)

"""Split the cost of rented machines by slot usage: joins the provisioner's ledger with the scheduler's usage by day and pool."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import cast

from muster.errors import Rejected
from services.gateway.machine_pools.cost_allocation import idle_usage, rented_of, sum_by, with_shares
from services.gateway.machine_pools.operations.pools import period_of
from services.gateway.machine_pools.schema import CostKey, CostShare, CostShares, ListCostSharesRequest
from services.gateway.platform.auth.grants import TENANT_SCOPE
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.usage.core import LabelledUsage
from services.gateway.usage.find import load_used, named
from services.gateway.usage.schema import UsageRow
from shared.ids import SITE
from shared.messages.machine_pools import GetSpending
from shared.messages.usage import GetUsage, SlotUsageRow, UsageKey

_PLACE: tuple[UsageKey, UsageKey] = ("day", "pool")


async def list_cost_shares(call: Call, request: ListCostSharesRequest) -> CostShares:
    """List the cost of rented machines by slot usage. Site operators see all tenants and idle slots, other callers their tenant."""
    is_site = call.caller.is_site_operator and CostKey.EXPERIMENT not in request.by
    by = list(dict.fromkeys(request.by)) or [CostKey.TENANT]
    _check_sees(call, by)
    since, until = period_of(call, request.since, request.until)
    begin = datetime.combine(since, time(), UTC)
    end = datetime.combine(until + timedelta(days=1), time(), UTC)
    keys = cast(tuple[UsageKey, ...], tuple(map(str, by)))
    whose = GetUsage(by=tuple(dict.fromkeys((*_PLACE, *keys))), since=begin, until=end)
    spent, held, used = await asyncio.gather(
        call.dependencies.bus.ask(
            GetSpending(since=since, until=until), SITE, call.dependencies.timeouts.query_s
        ),
        load_used(call, GetUsage(by=_PLACE, since=begin, until=end), is_site=True),
        load_used(call, whose, is_site),
    )
    rented = rented_of(spent.rows, held)
    items = await _rows(call, sum_by(with_shares(rented, used), keys))
    if is_site:
        items += await _rows(call, sum_by(idle_usage(rented), keys), is_idle=True)
    cost = round(sum(one.cost for one in items), 6)
    return CostShares(since=since.isoformat(), until=until.isoformat(), by=by, items=items, cost=cost)


def _check_sees(call: Call, by: list[CostKey]) -> None:
    """Raises Rejected if the sums would include data that the caller may not see."""
    grants = call.caller.grants
    if CostKey.EXPERIMENT in by and not grants.holds(Permission.EXPERIMENT_READ, TENANT_SCOPE):
        raise Rejected(
            "forbidden",
            "costs by experiment require permission to read all experiments of the tenant",
            "by",
            "group by tenant, pool or day, or use `muster usage --by workspace`",
        )
    if not grants.holds(Permission.CLUSTER_READ, TENANT_SCOPE):
        raise Rejected(
            "forbidden",
            "costs require permission to see the usage of the whole tenant, and you can see only some workspaces",
            "by",
            "use `muster usage --by workspace`",
        )


async def _rows(call: Call, parts: list[SlotUsageRow], is_idle: bool = False) -> list[CostShare]:
    return [_row(row, is_idle) for row in await named(call, [LabelledUsage(one) for one in parts])]


def _row(row: UsageRow, is_idle: bool) -> CostShare:
    return CostShare(
        day=row.day,
        tenant=row.tenant,
        experiment=row.experiment,
        experiment_name=row.experiment_name,
        pool=row.pool,
        idle=is_idle,
        slot_hours=round(row.slot_seconds / 3600, 6),
        cost=row.cost,
    )

"""What tenants and workspaces may spend in a month, and have. Once it is spent they are granted nothing more that costs."""

from collections.abc import Mapping, Set
from datetime import datetime, timedelta

from services.scheduler.core.asked import Asked
from services.scheduler.core.changes import Changes
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.draft import Draft
from services.scheduler.core.events.grants import preempt
from services.scheduler.core.indexes import Pool
from services.scheduler.core.shares import Path
from services.scheduler.core.spending import Spending
from shared.ids import PoolName, TenantId


def month_of(now: datetime) -> datetime:
    """The first moment of the month, in UTC."""
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def next_month(now: datetime) -> datetime:
    """The first moment of the month after, in UTC."""
    return month_of(month_of(now) + timedelta(days=31))


def on_spending(cluster: Cluster, spending: Mapping[Path, Spending]) -> Changes:
    """What has been spent up to now, by holder; holders that are not named have no budget. Pools without a price cost nothing, and go on."""
    draft = Draft(cluster)
    draft.spending = spending
    over = {path for path, one in spending.items() if one.preempts and one.is_over}
    for pool in cluster.pools.values():
        if over and pool.policy.price_per_slot_hour:
            _ask_back(draft, pool, over)
    return draft


def warnings_of(cluster: Cluster, pool: PoolName, tenant: TenantId, workspace: str | None) -> tuple[str, ...]:
    """What who is about to use the pool should know of its budgets: those that are all but spent. Parts, not amounts: not everybody
    who may submit sees what all of a tenant costs."""
    spending = cluster.pools[pool].shares.spending
    paths: list[tuple[Path, str]] = [((tenant,), "the tenant")]
    if workspace is not None:
        paths.insert(0, ((tenant, workspace), f"workspace '{workspace}'"))
    found = [(whose, spending[path]) for path, whose in paths if path in spending]
    return tuple(_warning(whose, one) for whose, one in found if one.is_near)


def _warning(whose: str, one: Spending) -> str:
    if one.is_over:
        return f"{whose} has spent its budget for this month: nothing more starts in this pool until it is raised or the month is over"
    return f"{whose} has spent {one.spent / one.per_month:.0%} of its budget for this month"


def _ask_back(draft: Draft, pool: Pool, over: Set[Path]) -> None:
    for name, charge in pool.charges.items():
        if not charge.slots or charge.is_leaving:
            continue
        if any(node.path in over for node in charge.leaf.upwards()):
            preempt(draft, draft.run(name), Asked("budget"))

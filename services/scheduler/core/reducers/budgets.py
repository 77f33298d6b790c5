"""Budgets of tenants and workspaces. Once a budget is spent, its holder is granted nothing more that costs money."""

from collections.abc import Mapping, Set

from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.grants import preempt
from services.scheduler.core.state.changes import Changes, SetSpending
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.records.pool import Path
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.spending import BudgetSpending


def on_spending(cluster: Cluster, spending: Mapping[Path, BudgetSpending]) -> Changes:
    """Set the spending up to now, by holder; holders that are not named have no budget. Pools without a price
    are not affected."""
    draft = Draft(cluster)
    draft.rules.append(SetSpending(spending))
    over = {path for path, one in spending.items() if one.preempts and one.is_over}
    for pool in cluster.pools.values():
        if over and pool.policy.price_per_slot_hour:
            _ask_back(draft, pool, over)
    return draft


def _ask_back(draft: Draft, pool: Pool, over: Set[Path]) -> None:
    for name, charge in pool.charges.items():
        if not charge.slots or charge.is_leaving:
            continue
        if any(node.path in over for node in charge.leaf.upwards()):
            preempt(draft, draft.run(name), PreemptionNotice("budget"))

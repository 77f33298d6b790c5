"""Warnings shown on submission about elastic trials and budgets."""

from services.scheduler.core.planning.max_capacity import ReachableSlots
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.pool import Path, PoolPolicy
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import PoolName, TenantId


def lending_warnings(policy: PoolPolicy, needs: SlotNeeds, reach: ReachableSlots) -> tuple[str, ...]:
    """Return why a trial that can start will not get all the slots that it could use; empty for a trial that is
    not elastic."""
    if not needs.is_elastic:
        return ()
    found = []
    if reach.is_final and reach.slots < needs.max_slots:
        found.append(
            f"a trial may use up to {needs.max_slots} slots; pool {policy.name} can have at most {reach.slots} {reach.where}"
        )
    if not policy.elastic:
        found.append(
            f"pool {policy.name} gives no idle slots to elastic trials: a trial starts with {needs.max_slots} slots if they are free,"
            f" otherwise with {needs.min_slots}, and keeps that number (`muster pool set {policy.name} --elastic` changes this)"
        )
    return tuple(found)


def warnings_of(cluster: Cluster, pool: PoolName, tenant: TenantId, workspace: str | None) -> tuple[str, ...]:
    """Return warnings about budgets that are nearly spent. They state percentages and no amounts, because not
    every user who may submit may see a tenant's costs."""
    spending = cluster.pools[pool].shares.spending
    paths: list[tuple[Path, str]] = [((tenant,), "the tenant")]
    if workspace is not None:
        paths.insert(0, ((tenant, workspace), f"workspace '{workspace}'"))
    found = [(whose, spending[path]) for path, whose in paths if path in spending]
    return tuple(_warning(whose, one) for whose, one in found if one.is_near)


def _warning(whose: str, one: BudgetSpending) -> str:
    if one.is_over:
        return f"{whose} has spent its budget for this month: nothing more starts in this pool until the budget is raised or the month ends"
    return f"{whose} has spent {one.spent / one.per_month:.0%} of its budget for this month"

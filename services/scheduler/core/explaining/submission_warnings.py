"""What a person is told, when submitting, of an elastic trial's chances."""

from services.scheduler.core.planning.fit import ReachableSlots
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.records.pool import Path, PoolPolicy
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import PoolName, TenantId


def lending_warnings(policy: PoolPolicy, needs: SlotNeeds, reach: ReachableSlots) -> tuple[str, ...]:
    """Why a trial that can start will not get all it would take; nothing where it may, or is not elastic."""
    if not needs.is_elastic:
        return ()
    told = []
    if reach.is_final and reach.slots < needs.max_slots:
        told.append(
            f"slots for a trial: up to {needs.max_slots} asked for; pool {policy.name} can have {reach.slots} {reach.where}"
        )
    if not policy.elastic:
        told.append(
            f"pool {policy.name} lends no idle slots: a trial begins with {needs.max_slots} slots where they are free,"
            f" else with {needs.min_slots}, and keeps what it began with (`muster pool set {policy.name} --elastic` changes that)"
        )
    return tuple(told)


def warnings_of(cluster: Cluster, pool: PoolName, tenant: TenantId, workspace: str | None) -> tuple[str, ...]:
    """What who is about to use the pool should know of its budgets: those that are all but spent. Parts, not amounts: not everybody
    who may submit sees what all of a tenant costs."""
    spending = cluster.pools[pool].shares.spending
    paths: list[tuple[Path, str]] = [((tenant,), "the tenant")]
    if workspace is not None:
        paths.insert(0, ((tenant, workspace), f"workspace '{workspace}'"))
    found = [(whose, spending[path]) for path, whose in paths if path in spending]
    return tuple(_warning(whose, one) for whose, one in found if one.is_near)


def _warning(whose: str, one: BudgetSpending) -> str:
    if one.is_over:
        return f"{whose} has spent its budget for this month: nothing more starts in this pool until it is raised or the month is over"
    return f"{whose} has spent {one.spent / one.per_month:.0%} of its budget for this month"

"""Checks whether a request could ever be placed. The gateway asks before it accepts an experiment."""

from services.scheduler.core.explaining.submission_warnings import lending_warnings, warnings_of
from services.scheduler.core.explaining.wait_reasons import other_tenant_text
from services.scheduler.core.planning.max_capacity import ReachableSlots, reach_of
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import open_pools
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.labels import where_of
from services.scheduler.core.state.records.pool import FIRST_PRIORITY, LAST_PRIORITY, PoolPolicy
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.errors import Rejected
from shared.ids import TenantId
from shared.messages.queue import Placeable, ValidatePlacement


def validate_placement(cluster: Cluster, tenant: TenantId, query: ValidatePlacement) -> Placeable:
    """Check that the request fits existing machines or those that the provider can add, with warnings where
    this may change.

    Raises:
        Rejected: It can never be placed; names the field of the config.
    """
    if query.priority is not None and not FIRST_PRIORITY <= query.priority <= LAST_PRIORITY:
        raise Rejected(
            "bad_priority",
            f"priority {query.priority} is not between {FIRST_PRIORITY} and {LAST_PRIORITY}",
            "resources.priority",
        )
    refresh(cluster)
    pools = open_pools(cluster.pools)
    pool = pools.get(query.pool)
    if pool is None:
        known = ", ".join(pools)
        raise Rejected(
            "pool_unknown",
            f"pool {query.pool} does not exist",
            "resources.resource_pool",
            f"choose one of {known}" if known else None,
        )
    if pool.policy.only_tenant not in (None, tenant):
        raise Rejected(
            "pool_serves_other_tenant",
            other_tenant_text(query.pool),
            "resources.resource_pool",
            "choose another pool",
        )
    where = where_of(query.required_labels, query.preferred_labels, query.excluded_workers)
    needs = SlotNeeds(query.min_slots, query.max_slots, query.kind, query.single_node, where=where)
    reach = reach_of(pool.capacity, pool.policy, cluster.workers.values(), tenant, needs)
    spent = warnings_of(cluster, query.pool, tenant, query.workspace)
    warnings = (*_unknown_workers(cluster, query), *_closing(pool.policy), *spent)
    if reach.is_final and not reach.slots and needs.where is not None and needs.where.required:
        raise Rejected(
            "labels_unknown",
            f"pool {query.pool} has no machine {needs.where}",
            "resources.required_labels",
            "`muster worker list` shows the labels of the workers",
        )
    if query.min_slots <= reach.slots:
        return Placeable(warnings=(*warnings, *lending_warnings(pool.policy, needs, reach)))
    if reach.is_final:
        raise _refuse_closing(query) if pool.policy.is_closing else _never(query, reach)
    return Placeable(
        warnings=(*warnings, f"{_sentence(query, reach)} now; the trial will wait until the pool grows")
    )


def _refuse_closing(query: ValidatePlacement) -> Rejected:
    message = f"pool {query.pool} is closing: its machines are removed as their runs end"
    return Rejected("pool_closing", message, "resources.resource_pool", "choose another pool")


def _never(query: ValidatePlacement, reach: ReachableSlots) -> Rejected:
    message = _sentence(query, reach)
    if query.kind and not reach.slots:
        hint = "ask for another kind, or choose another pool with resources.resource_pool"
        return Rejected("slots_unsatisfiable", message, "resources.slot_kind", hint)
    hint = "ask for fewer slots, or choose a larger pool with resources.resource_pool"
    return Rejected("slots_unsatisfiable", message, "resources.slots_per_trial", hint)


def _sentence(query: ValidatePlacement, reach: ReachableSlots) -> str:
    slots = "1 slot" if query.min_slots == 1 else f"{query.min_slots} slots"
    return f"a trial needs {slots}; pool {query.pool} can have {reach.slots} {reach.where}"


def _closing(policy: PoolPolicy) -> tuple[str, ...]:
    if not policy.is_closing:
        return ()
    return (f"pool {policy.name} is closing: its machines are removed as their runs end",)


def _unknown_workers(cluster: Cluster, query: ValidatePlacement) -> tuple[str, ...]:
    return tuple(
        f"excluded worker {worker} is not in pool {query.pool}"
        for worker in query.excluded_workers
        if worker not in cluster.workers or cluster.workers[worker].pool != query.pool
    )

"""The plan: grants, preemptions, the reasons why other requests wait, and the demand for more slots.

`pool_plan` describes the order of decisions in a pool.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from services.scheduler.core.planning.decisions import Demand, Grant, Preempt, WaitReason
from services.scheduler.core.planning.elastic.extra_slots import Resize
from services.scheduler.core.planning.pool_plan import PoolPlan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.indexes.pool import BackfillReservation, Pool
from services.scheduler.core.state.machine_refresh import refresh
from shared.ids import PoolName, TenantId, TrialId, WorkerId

__all__ = ["Demand", "Grant", "Placement", "SchedulingPlan", "Preempt", "plan"]


@dataclass(frozen=True, slots=True)
class SchedulingPlan:
    """The result of planning.

    Attributes:
        refusals: Why each examined request was not served; `wait_reasons.explain` turns a reason into text.
        reserved: The head of the queue in each planned pool, and the machines reserved for it.
        more_expired: Pools with more runs whose time slice may have ended than one plan examines.
    """

    grants: tuple[Grant, ...] = ()
    signals: tuple[Preempt, ...] = ()
    demand: dict[PoolName, Demand] = field(default_factory=dict)
    refusals: dict[TrialId, WaitReason] = field(default_factory=dict)
    reserved: dict[PoolName, BackfillReservation | None] = field(default_factory=dict)
    resizes: tuple[Resize, ...] = ()
    more_expired: frozenset[PoolName] = frozenset()


def plan(cluster: Cluster, pools: Iterable[PoolName], is_carried_out: bool = False) -> SchedulingPlan:
    """Plan the given pools (those that changed), in order of their names.

    The cluster is left unchanged, unless `is_carried_out`: then the indexes of machines with grants keep the
    planned values. A pool is skipped until every worker known from before this term has sent a heartbeat or was
    declared lost, because slots that seem to be missing may belong to a worker whose heartbeat has not arrived
    yet.
    """
    refresh(cluster)
    grants: list[Grant] = []
    signals: list[Preempt] = []
    resizes: list[Resize] = []
    demand: dict[PoolName, Demand] = {}
    refusals: dict[TrialId, WaitReason] = {}
    reserved: dict[PoolName, BackfillReservation | None] = {}
    more_expired: set[PoolName] = set()
    served: dict[WorkerId, TenantId] = {}
    for name in sorted(pools):
        pool = cluster.pools.get(name)
        if pool is None or pool.silent_workers:
            continue
        with pool.tentative():
            _claim_machines(pool, served)
            planned = PoolPlan(cluster, pool)
            planned.serve()
            demand[name] = planned.demand()
            planned.distribute_extra_slots()
            if is_carried_out:
                planned.keep_granted()
        served |= _served_elsewhere(cluster, planned)
        grants += planned.grants
        signals += planned.signals
        resizes += planned.resizes
        refusals |= planned.refusals
        reserved[name] = planned.head.reserved
        if planned.has_more_expired:
            more_expired.add(name)
    return SchedulingPlan(
        tuple(grants), tuple(signals), demand, refusals, reserved, tuple(resizes), frozenset(more_expired)
    )


def _served_elsewhere(cluster: Cluster, planned: PoolPlan) -> dict[WorkerId, TenantId]:
    """Return the workers of other pools whose machines serve a tenant through the grants of this plan."""
    taken = [(grant.placement, cluster.trials[grant.trial].request.tenant) for grant in planned.grants]
    taken += [(one.placement, cluster.runs[one.run].tenant) for one in planned.resizes]
    return {
        other: tenant
        for placement, tenant in taken
        for worker, _ in placement
        for other in cluster.workers_by_machine.others(worker)
        if cluster.workers[other].pool != planned.pool.policy.name
        and (cluster.is_exclusive(worker) or cluster.is_exclusive(other))
    }


def _claim_machines(pool: Pool, served: dict[WorkerId, TenantId]) -> None:
    for capacity in filter(None, (pool.capacity, pool.later)):
        for worker, tenant in served.items():
            capacity.hold_elsewhere(worker, tenant)

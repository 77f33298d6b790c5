"""A user's policy and quotas as the scheduler's core takes them."""

from datetime import timedelta

from services.scheduler.core.pool import PoolPolicy, Quota
from shared.ids import PoolName
from simulator.files.schema import Cluster, Policy


def policy_of(policy: Policy, cluster: Cluster, pool: PoolName) -> PoolPolicy:
    """The pool's policy; machines and tenants of the cluster are as its file says."""
    return PoolPolicy(
        name=pool,
        preemption=policy.preemption,
        exclusive=cluster.exclusive,
        default_priority=policy.default_priority,
        order=policy.order,
        ageing=None if policy.ageing_s is None else timedelta(seconds=policy.ageing_s),
        min_run=timedelta(seconds=policy.min_run_s),
        max_preemptions=policy.max_preemptions,
        half_life=timedelta(hours=policy.half_life_h),
        defragment=policy.defragment,
        topology=policy.topology,
        placement=policy.placement,
        quantum=None if policy.quantum_s is None else timedelta(seconds=policy.quantum_s),
    )


def quotas_of(cluster: Cluster) -> dict[tuple[str, ...], Quota]:
    """By (tenant,) or (tenant, workspace)."""
    return {
        tuple(name.split("/")): Quota(limits.guaranteed, limits.maximum, limits.weight)
        for name, limits in cluster.quotas.items()
    }

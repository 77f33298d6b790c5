"""A user's policy as the scheduler's core takes it."""

from datetime import timedelta

from services.scheduler.core.pool import PoolPolicy
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
    )

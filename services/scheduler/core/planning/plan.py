"""The plan: who gets which slots now, who is asked for theirs, why the others wait, and what more could be used.

The order of decisions in a pool is told in `pool_plan`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from services.scheduler.core.planning.decisions import Demand, Grant, Preempt, WaitReason
from services.scheduler.core.planning.elastic.extra_slots import Resize
from services.scheduler.core.planning.pool_plan import PoolPlan
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.indexes.pool import BackfillReservation
from services.scheduler.core.state.machine_refresh import refresh
from shared.ids import PoolName, TrialId

__all__ = ["Demand", "Grant", "Placement", "SchedulingPlan", "Preempt", "plan"]


@dataclass(frozen=True, slots=True)
class SchedulingPlan:
    """`refusals`: why each waiting request that was looked at was passed by; `refusals.explain` puts it in words, for any.

    `reserved`: whose turn it is in each planned pool, and the machines that are kept for it. `turning`: pools in which more runs may yield
    whose turn is over than one plan looks for.
    """

    grants: tuple[Grant, ...] = ()
    signals: tuple[Preempt, ...] = ()
    demand: dict[PoolName, Demand] = field(default_factory=dict)
    refusals: dict[TrialId, WaitReason] = field(default_factory=dict)
    reserved: dict[PoolName, BackfillReservation | None] = field(default_factory=dict)
    resizes: tuple[Resize, ...] = ()
    turning: frozenset[PoolName] = frozenset()


def plan(cluster: Cluster, pools: Iterable[PoolName], is_carried_out: bool = False) -> SchedulingPlan:
    """Plans the given pools (those that changed), by name; the cluster is left as it was, unless the caller carries the plan out at once:
    then machines with grants are left as they will be. One of which a worker that was there
    before this term is not heard yet has to wait until it is, or is given up: what seems to be missing may only be silent."""
    refresh(cluster)
    grants: list[Grant] = []
    signals: list[Preempt] = []
    resizes: list[Resize] = []
    demand: dict[PoolName, Demand] = {}
    refusals: dict[TrialId, WaitReason] = {}
    reserved: dict[PoolName, BackfillReservation | None] = {}
    turning: set[PoolName] = set()
    for name in sorted(pools):
        pool = cluster.pools.get(name)
        if pool is None or pool.unheard:
            continue
        with pool.tentative():
            planned = PoolPlan(cluster, pool)
            planned.serve()
            demand[name] = planned.demand()
            planned.lend()
            if is_carried_out:
                planned.keep_granted()
        grants += planned.grants
        signals += planned.signals
        resizes += planned.resizes
        refusals |= planned.refusals
        reserved[name] = planned.head.reserved
        if planned.are_turns_left:
            turning.add(name)
    return SchedulingPlan(
        tuple(grants), tuple(signals), demand, refusals, reserved, tuple(resizes), frozenset(turning)
    )

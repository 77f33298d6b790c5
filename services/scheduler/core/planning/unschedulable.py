"""Unschedulable requests: no growth of the pool would help them, so no machines are requested for them until
the pool changes.

Some can never fit: submission refuses such requests (`max_capacity`), but the pool may have shrunk since. Others need
labels that the provider's machines do not have; only existing machines can serve them. Used by `pool_plan`.
"""

from collections import Counter

from services.scheduler.core.planning.feasibility import ANY_TENANT
from services.scheduler.core.planning.max_capacity import reach_of
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.labels import has_all
from services.scheduler.core.state.records.trial import SlotNeeds


def unschedulable_shapes(pool: Pool) -> int:
    """Return the mask of all shapes that growth does not help. During the plan their slots do not count as
    waited for."""
    beyond = 0
    for needs, bit in pool.queue.shapes.items():
        if not _may_grow(pool, needs):
            beyond |= bit
    if any(tenant.mask & beyond for tenant in pool.shares.root.children.values()):
        for line in pool.queue.lines.values():
            if line.bit & beyond:
                pool.shares.change(line.leaf, asked=-len(line.keys) * line.needs.most)
    return beyond


def single_node_sizes(pool: Pool, granted: Counter[tuple[ShareNode, int]]) -> tuple[tuple[int, int], ...]:
    """Return how many requests wait for each number of slots on one machine, largest first.

    Only requests that can ever fit count, and only those whose tenant and workspace may have that many slots
    now: a request blocked by a limit or a budget must not influence the machine size. `granted`: requests of
    each workspace and size that this plan serves.
    """
    left: Counter[int] = Counter()
    for (holder, size), count in pool.single_node.items():
        if size <= min(holder.usable, holder.tenant.usable):
            left[size] += count - granted[holder, size]
    sizes = (size for size in left if size and _may_grow(pool, SlotNeeds(size, size, single_node=True)))
    return tuple((size, left[size]) for size in sorted(sizes, reverse=True) if left[size] > 0)


def _may_grow(pool: Pool, needs: SlotNeeds) -> bool:
    policy, where = pool.policy, needs.where
    if (
        where is not None
        and policy.max_slots is not None
        and not has_all(policy.provided_labels, where.required)
    ):
        return False
    reach = reach_of(pool.capacity, policy, (), ANY_TENANT.tenant, needs)
    return needs.min_slots <= reach.slots or not reach.is_final

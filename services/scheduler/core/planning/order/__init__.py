"""The order in which a pool's requests are served: one interface, three policies. A plan uses one `QueueOrder`,
which sees the plan's tentative charges."""

from services.scheduler.core.planning.order.fair_share import FairShareOrder
from services.scheduler.core.planning.order.interface import QueueOrder
from services.scheduler.core.planning.order.static_order import StaticOrder
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.share_tree import RequestGroup

__all__ = ["QueueOrder", "serving"]


def queue_order(pool: Pool, favoured: RequestGroup | None, now_ms: int) -> QueueOrder:
    """Return the pool's order for one plan. `favoured` keeps its place at the front in orders that may change
    from plan to plan."""
    if pool.shares.history is not None:
        return FairShareOrder(pool.queue, pool.shares, pool.shares.history, favoured, now_ms)
    return StaticOrder(pool.queue, pool.policy, pool.yield_times)

"""Who goes first in a pool: one port, three policies. A plan takes one `QueueOrder`, which sees the plan's tentative charges."""

from services.scheduler.core.planning.order.fair_share import FairShareOrder
from services.scheduler.core.planning.order.port import QueueOrder
from services.scheduler.core.planning.order.static_order import StaticOrder
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.share_tree import RequestGroup

__all__ = ["QueueOrder", "serving"]


def queue_order(pool: Pool, favoured: RequestGroup | None, now_ms: int) -> QueueOrder:
    """One plan's view of the pool's order. `favoured` has its turn: where the order may change from plan to plan, it keeps it."""
    if pool.shares.history is not None:
        return FairShareOrder(pool.queue, pool.shares, pool.shares.history, favoured, now_ms)
    return StaticOrder(pool.queue, pool.policy, pool.turns)

"""Who goes first in a pool: one port, three policies. A plan takes one `Serving`, which sees the plan's tentative charges."""

from services.scheduler.core.order.fair import FairServing
from services.scheduler.core.order.keyed import KeyedServing
from services.scheduler.core.order.port import Serving
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.queue import Line, Queue
from services.scheduler.core.shares import Shares

__all__ = ["Serving", "serving"]


def serving(policy: PoolPolicy, queue: Queue, shares: Shares, favoured: Line | None, now_ms: int) -> Serving:
    """One plan's view of the pool's order. `favoured` has its turn: where the order may change from plan to plan, it keeps it."""
    if shares.history is not None:
        return FairServing(queue, shares, shares.history, favoured, now_ms)
    return KeyedServing(queue, policy)

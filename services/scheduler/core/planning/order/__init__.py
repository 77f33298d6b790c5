"""Who goes first in a pool: one port, three policies. A plan takes one `Serving`, which sees the plan's tentative charges."""

from services.scheduler.core.planning.order.fair import FairServing
from services.scheduler.core.planning.order.keyed import KeyedServing
from services.scheduler.core.planning.order.port import Serving
from services.scheduler.core.state.indexes.holders import Line
from services.scheduler.core.state.indexes.pool import Pool

__all__ = ["Serving", "serving"]


def serving(pool: Pool, favoured: Line | None, now_ms: int) -> Serving:
    """One plan's view of the pool's order. `favoured` has its turn: where the order may change from plan to plan, it keeps it."""
    if pool.shares.history is not None:
        return FairServing(pool.queue, pool.shares, pool.shares.history, favoured, now_ms)
    return KeyedServing(pool.queue, pool.policy, pool.turns)

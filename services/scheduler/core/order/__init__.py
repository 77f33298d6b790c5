"""Who goes first in a pool: one port, three policies. A plan takes one `Serving`, which sees the plan's tentative charges."""

from bisect import bisect_left

from services.scheduler.core.indexes import Pool
from services.scheduler.core.order.fair import FairServing
from services.scheduler.core.order.keyed import KeyedServing, key_of
from services.scheduler.core.order.port import Serving
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.queue import Line, Queue
from services.scheduler.core.shares import Shares
from shared.ids import TrialId

__all__ = ["Serving", "ahead", "serving"]


def serving(policy: PoolPolicy, queue: Queue, shares: Shares, favoured: Line | None, now_ms: int) -> Serving:
    """One plan's view of the pool's order. `favoured` has its turn: where the order may change from plan to plan, it keeps it."""
    if shares.history is not None:
        return FairServing(queue, shares, shares.history, favoured, now_ms)
    return KeyedServing(queue, policy)


def ahead(pool: Pool, trial: TrialId) -> int:
    """How many requests go before this one as things stand. Under fair share only the own tenant's are counted, by place:
    which tenant goes first changes with every grant."""
    line, key = pool.queue.line_of(trial)
    if pool.policy.order == "fair_share":
        tenant = line.leaf.path[0]
        others = (other for other in pool.queue.lines.values() if other.leaf.path[0] == tenant)
        return sum(bisect_left(other.keys, key) for other in others)
    mine = key_of(pool.policy, line, key)
    return sum(
        bisect_left(other.keys, mine, key=lambda found, other=other: key_of(pool.policy, other, found))  # type: ignore[misc]
        for other in pool.queue.lines.values()
    )

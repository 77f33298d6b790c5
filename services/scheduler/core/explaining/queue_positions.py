"""Where a tenant's requests stand: in which order they are shown, and how many go before each. A page costs one pass over lines, not one
for each of its entries."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from services.scheduler.core.planning.order.static_order import key_of
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.share_tree import Key, RequestGroup, ShareNode
from services.scheduler.core.state.records.trial import RequestState
from shared.ids import PoolName, TenantId, TrialId

Rank = tuple[bool, int, int]
"""What is smaller goes first."""


class QueuePosition(NamedTuple):
    """Where a request is shown: what runs before what waits, pool by pool; what waits in the order of the queue."""

    pool: PoolName
    is_waiting: bool
    is_late: bool
    rank: int
    place: int
    trial: TrialId


def positions(cluster: Cluster, tenant: TenantId, only: PoolName | None = None) -> Iterator[QueuePosition]:
    """All of a tenant's requests that are not closed, in no particular order."""
    for trials in cluster.live.values():
        for name in trials:
            trial = cluster.trials[name]
            if trial.wish.tenant != tenant:
                break  # An experiment has one tenant.
            pool = cluster.pool_of(trial)
            if only not in (None, pool):
                continue
            queue = cluster.pools[pool].queue
            rank = (
                rank_of(cluster.pools[pool], *queue.line_of(name))
                if name in queue
                else (False, 0, trial.place)
            )
            yield QueuePosition(pool, trial.state is not RequestState.RUNNING, *rank, name)


def ahead(pool: Pool, trials: Sequence[TrialId]) -> dict[TrialId, int]:
    """How many requests go before each of these as things stand, for those that are in the queue; these must be of one tenant.

    Under fair share only the own tenant's are counted, by priority and place: which tenant goes first changes with every grant.
    """
    found = sorted(
        (rank_of(pool, *pool.queue.line_of(trial)), trial) for trial in trials if trial in pool.queue
    )
    if not found:
        return {}
    ranks = [rank for rank, _ in found]
    first_behind = [0] * (len(ranks) + 1)
    for line in _lines(pool, pool.queue.line_of(found[0][1])[0].leaf):
        for at, count in _counted(pool, line, ranks):
            first_behind[at] += count
    return {trial: count for (_, trial), count in zip(found, accumulate(first_behind), strict=False)}


def rank_of(pool: Pool, line: RequestGroup, key: Key) -> Rank:
    """A waiting request's place in its pool's order, as far as that does not change from plan to plan: under fair share that of a user's
    own experiments."""
    if pool.policy.order == "fair_share":
        return (False, line.leaf.priority, key[0])
    return key_of(pool.policy, line, key)


def _lines(pool: Pool, leaf: ShareNode) -> Iterable[RequestGroup]:
    if pool.policy.order != "fair_share":
        return pool.queue.lines.values()
    return (line for line in pool.queue.lines.values() if line.leaf.tenant is leaf.tenant)


def _counted(pool: Pool, line: RequestGroup, ranks: list[Rank]) -> Iterator[tuple[int, int]]:
    """(i, n): n requests of this line go before all from the i-th rank on, and before none of those that come earlier."""

    def rank(key: Key) -> Rank:
        return rank_of(pool, line, key)

    keys = line.keys
    if rank(keys[0]) >= ranks[-1]:
        return
    if len(keys) < len(ranks):
        yield from ((bisect_right(ranks, rank(key)), 1) for key in keys)
        return
    before = 0
    for at, mine in enumerate(ranks):
        below = bisect_left(keys, mine, lo=before, key=rank)
        yield at, below - before
        before = below

"""Queue positions of a tenant's requests: the order in which they are listed, and how many requests are ahead
of each. A page costs one pass over the request groups, not one per entry."""

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
"""Smaller goes first."""


class QueuePosition(NamedTuple):
    """The sort key of a listed request: by pool; running requests, then waiting ones in queue order."""

    pool: PoolName
    is_waiting: bool
    is_late: bool
    rank: int
    place: int
    trial: TrialId


def positions(cluster: Cluster, tenant: TenantId, only: PoolName | None = None) -> Iterator[QueuePosition]:
    """Yield all open requests of a tenant, in no particular order."""
    for trials in cluster.live.values():
        for name in trials:
            trial = cluster.trials[name]
            if trial.request.tenant != tenant:
                break  # an experiment has one tenant
            pool = cluster.pool_of(trial)
            if only not in (None, pool):
                continue
            queue = cluster.pools[pool].queue
            rank = (
                rank_of(cluster.pools[pool], *queue.line_of(name))
                if name in queue
                else (False, 0, trial.submission_order)
            )
            yield QueuePosition(pool, trial.state is not RequestState.RUNNING, *rank, name)


def ahead(pool: Pool, trials: Sequence[TrialId]) -> dict[TrialId, int]:
    """Return how many requests are ahead of each of these queued ones, which must belong to one tenant.

    Under fair share only requests of the tenant itself count, by priority and submission order: which tenant
    goes first changes with every grant.
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
    """Return a waiting request's rank in the pool's order, as far as it does not change from plan to plan.
    Under fair share it orders a user's own experiments."""
    if pool.policy.order == "fair_share":
        return (False, line.leaf.priority, key[0])
    return key_of(pool.policy, line, key)


def _lines(pool: Pool, leaf: ShareNode) -> Iterable[RequestGroup]:
    if pool.policy.order != "fair_share":
        return pool.queue.lines.values()
    return (line for line in pool.queue.lines.values() if line.leaf.tenant is leaf.tenant)


def _counted(pool: Pool, line: RequestGroup, ranks: list[Rank]) -> Iterator[tuple[int, int]]:
    """Yield (i, n): n requests of this group are ahead of all ranks from the i-th on, and of none before."""

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

"""Many records at a time, as a leader's term begins: what holders hold and wait for is summed up once, not with each record."""

from collections.abc import Iterator
from contextlib import contextmanager

from services.scheduler.core.state.cluster import Cluster


@contextmanager
def loading(cluster: Cluster) -> Iterator[None]:
    """Records are put inside; nobody plans or asks before the end. The pools must be there."""
    for pool in cluster.pools.values():
        pool.shares.gather()
    try:
        yield
    finally:
        for pool in cluster.pools.values():
            pool.shares.settle()

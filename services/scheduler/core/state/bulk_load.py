"""Bulk loading at the start of a leader's term: the sums of holders are computed once instead of with each record."""

from collections.abc import Iterator
from contextlib import contextmanager

from services.scheduler.core.state.cluster import Cluster


@contextmanager
def loading(cluster: Cluster) -> Iterator[None]:
    """Put records inside the block. Plans and queries must wait for its end. The pools must exist before."""
    for pool in cluster.pools.values():
        pool.shares.gather()
    try:
        yield
    finally:
        for pool in cluster.pools.values():
            pool.shares.settle()

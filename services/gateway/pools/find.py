"""Finds pools in the scheduler's view."""

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster
from services.gateway.platform.call_context import Call
from shared.messages.pools import PoolView


async def view_of(call: Call, name: str) -> PoolView:
    """Return the scheduler's view of a pool. Raises NotFound, with the names of all pools."""
    view = await load_cluster(call)
    for pool in view.pools:
        if pool.pool == name:
            return pool
    raise NotFound(f"pool {name}", f"pools: {', '.join(sorted(pool.pool for pool in view.pools))}")

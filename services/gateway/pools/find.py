"""The scheduler's view of a pool, by name."""

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster
from services.gateway.platform.call import Call
from shared.messages.pools import PoolView


async def view_of(call: Call, name: str) -> PoolView:
    """Raises NotFound, naming the pools there are."""
    view = await load_cluster(call)
    for pool in view.pools:
        if pool.pool == name:
            return pool
    raise NotFound(f"pool {name}", f"there is {', '.join(sorted(pool.pool for pool in view.pools))}")

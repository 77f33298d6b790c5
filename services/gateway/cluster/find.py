"""Query the scheduler's view of the cluster."""

from muster.errors import NotFound
from services.gateway.platform.call_context import Call
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.workers import WorkerView


async def load_worker(call: Call, name: str) -> WorkerView:
    """Return the scheduler's view of a worker. Raises NotFound."""
    view = await load_cluster(call)
    for worker in view.workers:
        if worker.worker == name:
            return worker
    raise NotFound(f"worker {name}", "`muster worker list` shows all workers")


async def load_cluster(call: Call) -> ClusterView:
    """Return the scheduler's current view of pools and workers."""
    return await call.dependencies.bus.ask(GetCluster(), call.tenant, call.dependencies.timeouts.query_s)

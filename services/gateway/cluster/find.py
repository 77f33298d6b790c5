"""The scheduler's view of the cluster, and of one worker."""

from muster.errors import NotFound
from services.gateway.platform.call import Call
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.workers import WorkerView


async def load_worker(call: Call, name: str) -> WorkerView:
    """Raises NotFound."""
    view = await load_cluster(call)
    for worker in view.workers:
        if worker.worker == name:
            return worker
    raise NotFound(f"worker {name}", "`muster worker list` shows those there are")


async def load_cluster(call: Call) -> ClusterView:
    """What the scheduler says of pools and workers now."""
    return await call.doors.bus.ask(GetCluster(), call.tenant, call.doors.timeouts.query_s)

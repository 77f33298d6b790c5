"""List and show workers, instances and the queue."""

from collections.abc import Sequence

from services.gateway.cluster import store as cluster_store
from services.gateway.cluster.find import load_cluster, load_worker
from services.gateway.cluster.render import render_instance, render_queue_entry, render_worker
from services.gateway.cluster.schema import (
    InstancePage,
    ListInstancesRequest,
    ListQueueRequest,
    ListWorkersRequest,
    QueuePage,
    Worker,
    WorkerPage,
    WorkerRequest,
)
from services.gateway.experiments import store as experiments
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import choose_page, make_cursor, next_cursor, read_wanted
from shared.ids import PoolName
from shared.messages.queue import GetQueue, QueueEntry


async def list_workers(call: Call, request: ListWorkersRequest) -> WorkerPage:
    """List the workers, by id by default."""
    wanted = read_wanted(call, request)
    view = await load_cluster(call)
    found = [render_worker(worker) for worker in view.workers if request.pool in (None, worker.pool)]
    items, cursor = choose_page(call, request, wanted, found)
    return WorkerPage(items=items, next_cursor=cursor)


async def get_worker(call: Call, request: WorkerRequest) -> Worker:
    """Show one worker."""
    return render_worker(await load_worker(call, request.worker))


async def list_instances(call: Call, request: ListInstancesRequest) -> InstancePage:
    """List the machines that the provisioner rented or started, newest first by default."""
    wanted = read_wanted(call, request)
    async with call.dependencies.database.system() as connection:
        found = await cluster_store.load_instances(connection, wanted)
    now = call.dependencies.clock.now()
    return InstancePage(
        items=[render_instance(row, now) for row in found.rows],
        next_cursor=next_cursor(call, request, found.next),
    )


async def list_queue(call: Call, request: ListQueueRequest) -> QueuePage:
    """List the waiting and running trials of the caller's tenant, in queue order by default."""
    # Parsed here too, so that errors name the request field; the scheduler gets the raw expressions.
    position = read_wanted(call, request).after
    question = GetQueue(
        pool=PoolName(request.pool) if request.pool else None,
        after=str(position[0]) if position else None,
        limit=request.limit,
        filter=request.filter,
        sort=request.sort,
        starts=request.starts,
    )
    page = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
    return QueuePage(
        items=[render_queue_entry(entry) for entry in await _visible(call, page.entries)],
        next_cursor=make_cursor(call, request, [page.next]) if page.next else None,
    )


async def _visible(call: Call, entries: Sequence[QueueEntry]) -> Sequence[QueueEntry]:
    """Keep the entries of experiments that the caller may see; a page may hold fewer entries than its limit."""
    if call.sees_all_experiments:
        return entries
    async with call.read() as connection:
        known = await experiments.load_names(connection, {entry.experiment_id for entry in entries})
    return [entry for entry in entries if entry.experiment_id in known]

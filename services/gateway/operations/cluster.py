"""Workers, instances and the queue: read, and workers drained."""

from bisect import bisect_right

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.api.base import PageRequest
from services.gateway.api.cluster import (
    DrainWorkerRequest,
    InstancePage,
    ListQueueRequest,
    ListWorkersRequest,
    QueuePage,
    Worker,
    WorkerPage,
    WorkerRequest,
)
from services.gateway.operations.call import Call
from services.gateway.operations.commands import wait_for
from services.gateway.operations.find import parse_uuid
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render_cluster import (
    render_instance,
    render_queue_entry,
    render_worker,
)
from services.gateway.store import registry
from shared.ids import SITE, PoolName, WorkerId, new_id
from shared.messages.pools import ClusterView, GetCluster
from shared.messages.queue import GetQueue
from shared.messages.workers import DrainWorker


async def list_workers(call: Call, request: ListWorkersRequest) -> WorkerPage:
    """Lists the workers by id."""
    position = read_cursor(call, request, request.cursor)
    view = await _cluster(call)
    found = sorted(
        (worker for worker in view.workers if request.pool in (None, worker.pool)), key=lambda one: one.worker
    )
    first = bisect_right([worker.worker for worker in found], str(position[0])) if position else 0
    shown = found[first : first + request.limit]
    more = first + request.limit < len(found)
    return WorkerPage(
        items=[render_worker(worker) for worker in shown],
        next_cursor=make_cursor(call, request, [shown[-1].worker]) if more else None,
    )


async def get_worker(call: Call, request: WorkerRequest) -> Worker:
    """Shows one worker."""
    view = await _cluster(call)
    for worker in view.workers:
        if worker.worker == request.worker:
            return render_worker(worker)
    raise NotFound("the worker", "`muster worker list` shows those there are")


async def drain_worker(call: Call, request: DrainWorkerRequest) -> Worker:
    """Gives a worker no more work; its runs end by themselves, or are asked to save and go elsewhere."""
    return await _drain(call, request.worker, reclaim=request.reclaim, undo=False)


async def undrain_worker(call: Call, request: WorkerRequest) -> Worker:
    """Gives a worker work again."""
    return await _drain(call, request.worker, reclaim=False, undo=True)


async def _drain(call: Call, worker: str, reclaim: bool, undo: bool) -> Worker:
    """Workers are the site's: the command is sent in its name, and the scheduler's own view tells when it has worked."""
    before = await get_worker(call, WorkerRequest(worker=worker))
    command = DrainWorker(
        operation_id=new_id(call.doors.clock), worker=WorkerId(before.id), reclaim=reclaim, undo=undo
    )
    async with call.doors.units.system() as unit:
        unit.emit(command, tenant=SITE)

    async def look(_: AsyncConnection) -> Worker | None:
        now = await get_worker(call, WorkerRequest(worker=worker))
        return now if now.state == "lost" or (now.state == "draining") != undo else None

    found = await wait_for(call, command.operation_id, look)
    return found or await get_worker(call, WorkerRequest(worker=worker))


async def list_instances(call: Call, request: PageRequest) -> InstancePage:
    """Lists the machines that were rented or started, newest first."""
    position = read_cursor(call, request, request.cursor)
    async with call.doors.database.system() as connection:
        below = parse_uuid(str(position[0])) if position else None
        rows = await registry.load_instances(connection, below, request.limit + 1)
    shown = rows[: request.limit]
    more = len(rows) > request.limit
    return InstancePage(
        items=[render_instance(row) for row in shown],
        next_cursor=make_cursor(call, request, [str(shown[-1].id)]) if more else None,
    )


async def list_queue(call: Call, request: ListQueueRequest) -> QueuePage:
    """Lists what of the caller's tenant waits or runs, in the order of service."""
    position = read_cursor(call, request, request.cursor)
    question = GetQueue(
        pool=PoolName(request.pool) if request.pool else None,
        after=str(position[0]) if position else None,
        limit=request.limit,
    )
    page = await call.doors.bus.ask(question, call.tenant, call.doors.query_timeout_s)
    return QueuePage(
        items=[render_queue_entry(entry) for entry in page.entries],
        next_cursor=make_cursor(call, request, [page.next]) if page.next else None,
    )


async def _cluster(call: Call) -> ClusterView:
    return await call.doors.bus.ask(GetCluster(), call.tenant, call.doors.query_timeout_s)

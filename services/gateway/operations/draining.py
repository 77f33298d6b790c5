"""Workers are given no more work, or work again: one by its id, or all that have certain labels; single slots too. Neighbour: `cluster`, which shows them.

Workers are the site's: commands are sent in its name, and the scheduler's own view tells when they have worked.
"""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.api.cluster import (
    DrainWorkerRequest,
    DrainWorkersRequest,
    SlotRequest,
    Worker,
    WorkerPage,
    WorkerRequest,
    WorkersRequest,
)
from services.gateway.operations.call import Call
from services.gateway.operations.cluster import load_cluster, load_worker
from services.gateway.operations.commands import wait_for
from services.gateway.operations.render_cluster import render_worker
from shared.ids import SITE, new_id
from shared.messages.workers import DisableSlot, DrainWorker, WorkerView


async def drain_worker(call: Call, request: DrainWorkerRequest) -> Worker:
    """Gives a worker no more work; its runs end by themselves, or are asked to save and go elsewhere."""
    (found,) = await _drain(call, [await load_worker(call, request.worker)], request.reclaim, undo=False)
    return render_worker(found)


async def undrain_worker(call: Call, request: WorkerRequest) -> Worker:
    """Gives a worker work again."""
    (found,) = await _drain(call, [await load_worker(call, request.worker)], reclaim=False, undo=True)
    return render_worker(found)


async def drain_workers(call: Call, request: DrainWorkersRequest) -> WorkerPage:
    """Gives all workers with these labels no more work. One that joins later, labelled so, takes work."""
    found = await _drain(call, await _labelled(call, request), request.reclaim, undo=False)
    return WorkerPage(items=[render_worker(worker) for worker in found])


async def undrain_workers(call: Call, request: WorkersRequest) -> WorkerPage:
    """Gives all workers with these labels work again."""
    found = await _drain(call, await _labelled(call, request), reclaim=False, undo=True)
    return WorkerPage(items=[render_worker(worker) for worker in found])


async def disable_slot(call: Call, request: SlotRequest) -> Worker:
    """Gives one slot no more work; what runs there ends by itself."""
    return await _disable(call, request, undo=False)


async def enable_slot(call: Call, request: SlotRequest) -> Worker:
    """Gives a slot work again."""
    return await _disable(call, request, undo=True)


async def _disable(call: Call, request: SlotRequest, undo: bool) -> Worker:
    before = await load_worker(call, request.worker)
    if request.slot not in (*before.slot_ids, *before.disabled_slots):
        has = ", ".join(map(str, before.slot_ids))
        raise NotFound(f"slot {request.slot} of worker {before.worker}", f"it has {has or 'none'}")
    operation = new_id(call.doors.clock)
    call.note(before=render_worker(before))
    command = DisableSlot(operation_id=operation, worker=before.worker, slot=request.slot, undo=undo)
    async with call.site_unit() as unit:
        unit.emit(command, tenant=SITE)

    async def look(_: AsyncConnection) -> WorkerView | None:
        now = await load_worker(call, request.worker)
        return now if (request.slot in now.disabled_slots) != undo else None

    found = await wait_for(call, operation, look, sent_for=SITE)
    return render_worker(found or await load_worker(call, request.worker))


async def _labelled(call: Call, request: WorkersRequest) -> list[WorkerView]:
    """Raises NotFound: no worker has these labels."""
    view = await load_cluster(call)
    found = [
        worker
        for worker in sorted(view.workers, key=lambda one: one.worker)
        if request.pool in (None, worker.pool) and request.labels.items() <= worker.labels.items()
    ]
    if not found:
        words = ", ".join(f"{key}={value}" for key, value in request.labels.items())
        raise NotFound(
            f"a worker with {words}", "`muster worker list` shows what the workers are labelled with"
        )
    return found


async def _drain(call: Call, workers: Sequence[WorkerView], reclaim: bool, undo: bool) -> list[WorkerView]:
    """The workers as they stand once all commands have worked, or no more time is left."""
    names = {worker.worker for worker in workers}
    commands = [
        DrainWorker(operation_id=new_id(call.doors.clock), worker=worker.worker, reclaim=reclaim, undo=undo)
        for worker in workers
    ]
    async with call.site_unit() as unit:
        unit.emit(*commands, tenant=SITE)

    async def now() -> list[WorkerView]:
        view = await load_cluster(call)
        return sorted((one for one in view.workers if one.worker in names), key=lambda one: one.worker)

    async def look(_: AsyncConnection) -> list[WorkerView] | None:
        found = await now()
        is_done = all(one.state == "lost" or (one.state == "draining") != undo for one in found)
        return found if is_done and len(found) == len(names) else None

    found = await wait_for(call, commands[0].operation_id, look, sent_for=SITE)
    return found if found is not None else await now()

"""Drain and undrain workers, by id or by labels, and disable and enable single slots.

Workers belong to the site: commands are sent on its behalf, and the scheduler's view shows when they have taken effect.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster, load_worker
from services.gateway.cluster.render import render_worker
from services.gateway.cluster.schema import (
    DrainWorkerRequest,
    DrainWorkersRequest,
    SlotRequest,
    Worker,
    WorkerPage,
    WorkerRequest,
    WorkersRequest,
)
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred, unless_silent
from services.gateway.platform.commands.outcomes import SiteOutcome
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.schema import Resource
from shared.ids import SITE, new_id
from shared.messages.pools import ClusterView
from shared.messages.workers import DisableSlot, DrainWorker, WorkerView


class DrainTarget(BaseModel):
    """Desired state: workers to drain, or to undrain."""

    workers: list[str]
    undo: bool

    def select_from(self, view: ClusterView) -> WorkerPage:
        """Return the current state of these workers."""
        found = sorted(
            (one for one in view.workers if one.worker in self.workers), key=lambda one: one.worker
        )
        return WorkerPage(items=[render_worker(worker) for worker in found])

    def result_in(self, view: ClusterView) -> WorkerPage | None:
        """Return the workers once all have reached the desired state; None before."""
        found = self.select_from(view)
        is_done = all(one.state == "lost" or (one.state == "draining") != self.undo for one in found.items)
        return found if is_done and len(found.items) == len(self.workers) else None


class SlotTarget(BaseModel):
    """Desired state: a slot to disable, or to enable."""

    worker: str
    slot: int
    undo: bool

    def result_in(self, view: ClusterView) -> Worker | None:
        """Return the worker once the slot has reached the desired state; None before."""
        now = next((one for one in view.workers if one.worker == self.worker), None)
        is_done = now is not None and (self.slot in now.disabled_slots) != self.undo
        return render_worker(now) if now is not None and is_done else None


def _drained(desired_state: Any, view: ClusterView) -> WorkerPage | None:
    return DrainTarget.model_validate(desired_state).result_in(view)


def _drained_one(desired_state: Any, view: ClusterView) -> Worker | None:
    page = _drained(desired_state, view)
    return _only(page) if page is not None else None


def _switched(desired_state: Any, view: ClusterView) -> Worker | None:
    return SlotTarget.model_validate(desired_state).result_in(view)


DRAIN_WORKERS_OUTCOME, DRAIN_WORKER_OUTCOME, SLOT_OUTCOME = (
    SiteOutcome(_drained),
    SiteOutcome(_drained_one),
    SiteOutcome(_switched),
)


async def drain_worker(call: Call, request: DrainWorkerRequest) -> Worker:
    """Drain a worker: it gets no new runs. Its current runs finish, or with `reclaim` save and move to other workers."""
    worker = await load_worker(call, request.worker)
    return _only(await _drain(call, [worker], request.reclaim, undo=False, show=_only))


async def undrain_worker(call: Call, request: WorkerRequest) -> Worker:
    """Undrain a worker: it gets new runs again."""
    worker = await load_worker(call, request.worker)
    return _only(await _drain(call, [worker], reclaim=False, undo=True, show=_only))


async def drain_workers(call: Call, request: DrainWorkersRequest) -> WorkerPage:
    """Drain all workers with these labels. Workers that join later with the same labels are not drained."""
    return await _drain(call, await _labelled(call, request), request.reclaim, undo=False)


async def undrain_workers(call: Call, request: WorkersRequest) -> WorkerPage:
    """Undrain all workers with these labels."""
    return await _drain(call, await _labelled(call, request), reclaim=False, undo=True)


async def disable_slot(call: Call, request: SlotRequest) -> Worker:
    """Disable one slot: it gets no new runs. The current run finishes."""
    return await _disable(call, request, undo=False)


async def enable_slot(call: Call, request: SlotRequest) -> Worker:
    """Enable a slot: it gets new runs again."""
    return await _disable(call, request, undo=True)


async def _disable(call: Call, request: SlotRequest, undo: bool) -> Worker:
    before = await load_worker(call, request.worker)
    if request.slot not in (*before.slot_ids, *before.disabled_slots):
        slots = ", ".join(map(str, before.slot_ids))
        raise NotFound(f"slot {request.slot} of worker {before.worker}", f"its slots are: {slots or 'none'}")
    operation = new_id(call.dependencies.clock)
    call.set_audit_fields(before=render_worker(before))
    command = DisableSlot(operation_id=operation, worker=before.worker, slot=request.slot, undo=undo)
    async with call.site_transaction() as unit:
        unit.emit(command, tenant=SITE)
    desired_state = SlotTarget(worker=before.worker, slot=request.slot, undo=undo)

    async def ask() -> Worker | None:
        return desired_state.result_in(await load_cluster(call))

    found = await wait_for(call, operation, ask=ask, sent_for=SITE)
    if found is None:
        now = await unless_silent(load_worker(call, request.worker))
        present = render_worker(now) if now is not None else None
        raise await deferred(call, operation, present=present, desired_state=desired_state)
    return found


async def _labelled(call: Call, request: WorkersRequest) -> list[WorkerView]:
    """Return the workers with these labels. Raises NotFound if there are none."""
    view = await load_cluster(call)
    found = [
        worker
        for worker in sorted(view.workers, key=lambda one: one.worker)
        if request.pool in (None, worker.pool) and request.labels.items() <= worker.labels.items()
    ]
    if not found:
        labels = ", ".join(f"{key}={value}" for key, value in request.labels.items())
        raise NotFound(
            f"a worker with the labels {labels}", "`muster worker list` shows the labels of the workers"
        )
    return found


async def _drain(
    call: Call,
    workers: Sequence[WorkerView],
    reclaim: bool,
    undo: bool,
    show: Callable[[WorkerPage], Resource] = lambda page: page,
) -> WorkerPage:
    """Send the commands and return the workers once all took effect. Raises StillWorking, with their current state, if that takes too long."""
    desired_state = DrainTarget(workers=[worker.worker for worker in workers], undo=undo)
    commands = [
        DrainWorker(
            operation_id=new_id(call.dependencies.clock), worker=worker.worker, reclaim=reclaim, undo=undo
        )
        for worker in workers
    ]
    before = WorkerPage(items=[render_worker(worker) for worker in workers])
    call.set_audit_fields(before=show(before))
    async with call.site_transaction() as unit:
        unit.emit(*commands, tenant=SITE)

    async def ask() -> WorkerPage | None:
        return desired_state.result_in(await load_cluster(call))

    operation = commands[0].operation_id
    found = await wait_for(call, operation, ask=ask, sent_for=SITE)
    if found is None:
        view = await unless_silent(load_cluster(call))
        present = show(desired_state.select_from(view)) if view is not None else None
        raise await deferred(call, operation, present=present, desired_state=desired_state)
    return found


def _only(page: WorkerPage) -> Worker:
    return page.items[0]

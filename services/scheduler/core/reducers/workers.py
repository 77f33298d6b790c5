"""Events about workers: an observed set arrived, a worker fell silent or was removed. See also `draining`."""

from dataclasses import replace
from datetime import datetime

from services.scheduler.core.reducers import allocations, draining, run_completion
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.published_events import WorkerDown, WorkerRemoved
from services.scheduler.core.state.records.worker import LIVENESS, Liveness, LivenessTrigger, Worker
from shared.ids import PoolName, WorkerId

REMOVED = "its instance was removed"


def on_heartbeat(cluster: Cluster, state: ObservedState, now: datetime) -> Changes:
    """Apply an observed set: the worker is alive, exits are applied once, and lost and obsolete allocations are
    detected."""
    draft = Draft(cluster)
    worker = cluster.workers.get(state.worker) or Worker(state.worker, state.pool)
    if worker.liveness is Liveness.REMOVED:
        return draft
    worker = _updated(draft, worker, state, now)
    for observed in state.allocations:
        allocations.observe(draft, worker, observed, now)
    named = {observed.allocation for observed in state.allocations}
    for run in draft.runs_on(worker.id):
        if run.allocation not in named:
            allocations.miss(draft, worker, run, now)
    worker = draining.leave(draft, worker, state.leaving)
    granted = {run.allocation for run in draft.runs_on(worker.id) if not run.is_ended}
    for allocation in worker.held.keys() - named - granted:
        draft.release(worker.id, allocation)
    draining.finish(draft, worker)
    return draft


def stale_of(cluster: Cluster, state: ObservedState) -> tuple[Observed, ...]:
    """Return the allocations that still run there although their run has ended or the token is a different one."""
    return tuple(
        one
        for one in state.allocations
        if one.exit is None
        and ((run := cluster.runs.get(one.run)) is None or run.is_ended or run.token != one.token)
    )


def on_joined(cluster: Cluster, worker: WorkerId, pool: PoolName) -> Changes:
    """Add a worker that has received credentials. It accepts runs after its first heartbeat."""
    draft = Draft(cluster)
    if worker not in cluster.workers:
        draft.put_worker(Worker(worker, pool))
    return draft


def on_worker_lost(cluster: Cluster, worker_id: WorkerId, reason: str, now: datetime) -> Changes:
    """Declare a worker lost: nothing is granted there, and its runs may start elsewhere."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness not in (Liveness.LOST, Liveness.REMOVED):
        _lose(draft, worker, reason, now)
    return draft


def on_removed(cluster: Cluster, worker_id: WorkerId, now: datetime) -> Changes:
    """Remove a worker whose instance was deleted. Everything on it is lost."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is None or worker.liveness is Liveness.REMOVED:
        return draft
    if worker.liveness is not Liveness.LOST:
        worker = _lose(draft, worker, REMOVED, now)
    for allocation in worker.held:
        draft.release(worker_id, allocation)
    worker = _moved(draft, worker, LivenessTrigger.REMOVED)
    draft.emit(WorkerRemoved(worker, REMOVED))
    return draft


def on_silent_worker_removed(cluster: Cluster, worker_id: WorkerId, reason: str) -> Changes:
    """Report that a lost worker will not return, so that no service waits for data that only it has. Its runs
    count as ended on its machine."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness is Liveness.LOST:
        for allocation in worker.held:
            draft.release(worker_id, allocation)
        draft.emit(WorkerRemoved(worker, reason))
    return draft


def _lose(draft: Draft, worker: Worker, reason: str, now: datetime) -> Worker:
    worker = _moved(draft, worker, LivenessTrigger.SILENT)
    draft.emit(WorkerDown(worker, reason))
    for run in draft.runs_on(worker.id):
        run_completion.lose_member(draft, run, worker.id, reason, now)
    return worker


def _updated(draft: Draft, worker: Worker, state: ObservedState, now: datetime) -> Worker:
    """Return the worker with what it reports."""
    if _is_unchanged(worker, state):
        if worker.is_empty != state.is_empty:
            worker = replace(worker, is_empty=state.is_empty)
            draft.put_quiet_worker(worker)
        return worker
    after = replace(
        worker,
        liveness=LIVENESS.next(worker.liveness, LivenessTrigger.HEARTBEAT),
        slot_ids=state.slot_ids,
        kind=state.kind,
        address=state.address,
        labels=state.labels,
        is_isolated=state.is_isolated,
        has_private_network=state.has_private_network,
        machine=state.machine,
        isolation=state.isolation,
        isolation_detail=state.isolation_detail,
        has_heartbeat=True,
        is_empty=state.is_empty,
        trouble=state.trouble,
        joined_at=worker.joined_at or now,
    )
    draft.put_worker(after)
    if worker.liveness is not Liveness.READY or _public(worker) != _public(after):
        draining.emit_worker(draft, after)
    return after


def _is_unchanged(worker: Worker, state: ObservedState) -> bool:
    is_known = worker.has_heartbeat and worker.liveness is Liveness.READY
    return is_known and worker.trouble == state.trouble and _public(worker) == _public(state)


def _public(whose: Worker | ObservedState) -> tuple[object, ...]:
    """The reported fields that are stored and published."""
    isolation = (whose.is_isolated, whose.isolation, whose.isolation_detail, whose.has_private_network)
    return (whose.slot_ids, whose.kind, whose.address, whose.labels, whose.machine, isolation)


def _moved(draft: Draft, worker: Worker, trigger: LivenessTrigger) -> Worker:
    has_heartbeat = worker.has_heartbeat and trigger is not LivenessTrigger.SILENT
    worker = replace(worker, liveness=LIVENESS.next(worker.liveness, trigger), has_heartbeat=has_heartbeat)
    draft.put_worker(worker)
    draft.worker_rows[worker.id] = None
    return worker

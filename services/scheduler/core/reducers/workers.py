"""Events from workers: an observed set was heard, a worker has fallen silent or is gone. Neighbour: `draining`."""

from dataclasses import replace
from datetime import datetime

from services.scheduler.core.reducers import allocations, draining, run_ends
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.facts import WorkerDown, WorkerRemoved
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.records.worker import LIVENESS, Liveness, LivenessTrigger, Worker
from shared.ids import PoolName, WorkerId

REMOVED = "its instance is gone"


def on_heartbeat(cluster: Cluster, heard: ObservedState, now: datetime) -> Changes:
    """An observed set: the worker lives; its exits are applied once; what it has lost or must drop is found."""
    draft = Draft(cluster)
    worker = cluster.workers.get(heard.worker) or Worker(heard.worker, heard.pool)
    if worker.liveness is Liveness.GONE:
        return draft
    worker = _updated(draft, worker, heard, now)
    for observed in heard.allocations:
        allocations.observe(draft, worker, observed, now)
    named = {observed.allocation for observed in heard.allocations}
    for run in draft.runs_on(worker.id):
        if run.allocation not in named:
            allocations.miss(draft, worker, run, now)
    worker = draining.leave(draft, worker, heard.leaving)
    granted = {run.allocation for run in draft.runs_on(worker.id) if not run.is_ended}
    for allocation in worker.held.keys() - named - granted:
        draft.release(worker.id, allocation)
    draining.finish(draft, worker)
    return draft


def stale_of(cluster: Cluster, heard: ObservedState) -> tuple[Observed, ...]:
    """What still runs there of runs that have ended, or whose allocation was another."""
    return tuple(
        one
        for one in heard.allocations
        if one.exit is None
        and ((run := cluster.runs.get(one.run)) is None or run.is_ended or run.token != one.token)
    )


def on_joined(cluster: Cluster, worker: WorkerId, pool: PoolName) -> Changes:
    """A worker has got credentials; it takes work once it is heard."""
    draft = Draft(cluster)
    if worker not in cluster.workers:
        draft.put_worker(Worker(worker, pool))
    return draft


def on_worker_lost(cluster: Cluster, worker_id: WorkerId, reason: str, now: datetime) -> Changes:
    """A worker is given up: nothing is granted there, and its runs may start elsewhere."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness not in (Liveness.LOST, Liveness.GONE):
        _lose(draft, worker, reason, now)
    return draft


def on_removed(cluster: Cluster, worker_id: WorkerId, now: datetime) -> Changes:
    """Its instance is gone for good: what it held is lost with it, and nothing more is heard of it."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is None or worker.liveness is Liveness.GONE:
        return draft
    if worker.liveness is not Liveness.LOST:
        worker = _lose(draft, worker, REMOVED, now)
    for allocation in worker.held:
        draft.release(worker_id, allocation)
    worker = _moved(draft, worker, LivenessTrigger.REMOVED)
    draft.tell(WorkerRemoved(worker, REMOVED))
    return draft


def on_lost_for_good(cluster: Cluster, worker_id: WorkerId, reason: str) -> Changes:
    """A worker that was given up long ago has not been heard since: nothing that only it holds is waited for any more."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness is Liveness.LOST:
        draft.tell(WorkerRemoved(worker, reason))
    return draft


def _lose(draft: Draft, worker: Worker, reason: str, now: datetime) -> Worker:
    worker = _moved(draft, worker, LivenessTrigger.SILENT)
    draft.tell(WorkerDown(worker, reason))
    for run in draft.runs_on(worker.id):
        run_ends.lose_member(draft, run, worker.id, reason, now)
    return worker


def _updated(draft: Draft, worker: Worker, heard: ObservedState, now: datetime) -> Worker:
    """The worker as it says that it is."""
    if _says_the_same(worker, heard):
        if worker.is_empty != heard.is_empty:
            worker = replace(worker, is_empty=heard.is_empty)
            draft.put_quiet_worker(worker)
        return worker
    after = replace(
        worker,
        liveness=LIVENESS.next(worker.liveness, LivenessTrigger.HEARD),
        slot_ids=heard.slot_ids,
        kind=heard.kind,
        address=heard.address,
        labels=heard.labels,
        is_isolated=heard.is_isolated,
        is_heard=True,
        is_empty=heard.is_empty,
        trouble=heard.trouble,
        joined_at=worker.joined_at or now,
    )
    draft.put_worker(after)
    if worker.liveness is not Liveness.READY or _public(worker) != _public(after):
        draining.emit_worker(draft, after)
    return after


def _says_the_same(worker: Worker, heard: ObservedState) -> bool:
    is_known = worker.is_heard and worker.liveness is Liveness.READY
    return is_known and worker.trouble == heard.trouble and _public(worker) == _public(heard)


def _public(whose: Worker | ObservedState) -> tuple[object, ...]:
    """What its tables and neighbours have of a worker that says so itself."""
    return (whose.slot_ids, whose.kind, whose.address, whose.labels, whose.is_isolated)


def _moved(draft: Draft, worker: Worker, trigger: LivenessTrigger) -> Worker:
    is_heard = worker.is_heard and trigger is not LivenessTrigger.SILENT
    worker = replace(worker, liveness=LIVENESS.next(worker.liveness, trigger), is_heard=is_heard)
    draft.put_worker(worker)
    draft.worker_rows[worker.id] = None
    return worker

"""Draining of workers, by command, by the provisioner or because the provider reclaims the machine, and
disabling of single slots."""

from dataclasses import replace

from services.scheduler.core.reducers import gang_forming
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.grants import preempt
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.observed import ReclaimNotice
from services.scheduler.core.state.published_events import WorkerEmptied, WorkerUp
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.worker import DRAIN, Drain, DrainTrigger, Liveness, Worker
from shared.ids import WorkerId


def on_drain(cluster: Cluster, worker_id: WorkerId, reclaim: bool, undo: bool) -> Changes:
    """Stop granting runs on a worker, or resume with `undo`. `reclaim` preempts its runs. An unknown worker
    changes nothing."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is None or worker.liveness is Liveness.REMOVED:
        return draft
    trigger = DrainTrigger.UNDO if undo else DrainTrigger.DRAIN
    worker = replace(worker, drain=DRAIN.next(worker.drain, trigger))
    draft.put_worker(worker)
    emit_worker(draft, worker)
    if reclaim and not undo:
        for run in draft.runs_on(worker_id):
            preempt(draft, run, PreemptionNotice("drain"))
    finish(draft, worker)
    return draft


def on_slot(cluster: Cluster, worker_id: WorkerId, slot: int, undo: bool) -> Changes:
    """Disable a slot, or enable it with `undo`. Its current run ends normally. An unknown worker changes nothing."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is None or (slot in worker.disabled) != undo:
        return draft
    worker = replace(worker, disabled=worker.disabled ^ {slot})
    draft.put_worker(worker)
    emit_worker(draft, worker)
    return draft


def leave(draft: Draft, worker: Worker, leaving: ReclaimNotice | None) -> Worker:
    """Apply the provider's notice that it reclaims the machine: nothing more is granted there. If the notice
    has a time, runs are preempted, except those that can continue without this member. None: the machine stays."""
    if worker.is_leaving != (leaving is not None):
        worker = replace(worker, is_leaving=leaving is not None)
        draft.put_worker(worker)
        emit_worker(draft, worker)
    if leaving is None or leaving.in_s is None:
        return worker
    for run in draft.runs_on(worker.id):
        if not gang_forming.can_do_without(run, draft.trial(run.trial), worker.id):
            preempt(draft, run, PreemptionNotice("leaving"))
    return worker


def emit_worker(draft: Draft, worker: Worker) -> None:
    """Store and publish a changed worker. For a drained worker the drained event is repeated, because the newer
    record would otherwise hide it."""
    draft.worker_rows[worker.id] = None
    draft.emit(WorkerUp(worker))
    if worker.drain is Drain.DRAINED:
        draft.emit(WorkerEmptied(worker))


def finish(draft: Draft, worker: Worker) -> None:
    """Complete the drain of a worker once it is empty."""
    if worker.drain is not Drain.DRAINING or not worker.is_empty or not worker.has_heartbeat:
        return
    if draft.is_holding(worker) or not all(run.is_ended for run in draft.runs_on(worker.id)):
        return
    worker = replace(worker, drain=DRAIN.next(worker.drain, DrainTrigger.EMPTIED))
    draft.put_worker(worker)
    draft.worker_rows[worker.id] = None
    draft.emit(WorkerEmptied(worker))

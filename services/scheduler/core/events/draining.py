"""Events that empty workers: people, the provisioner or the machine's own provider want it empty; a slot takes no more work."""

from services.scheduler.core.asked import Asked
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.elastic import forming
from services.scheduler.core.events.grants import on_preempted
from services.scheduler.core.facts import WorkerEmptied, WorkerUp
from services.scheduler.core.worker import DRAIN, Drain, DrainTrigger, Liveness, Worker
from shared.ids import WorkerId
from shared.messages.allocations import Leaving


def on_drain(cluster: Cluster, worker_id: WorkerId, reclaim: bool, undo: bool) -> bool:
    """Nothing more is granted to a worker (or again, with `undo`); `reclaim` asks its runs for their slots. False: unknown."""
    worker = cluster.workers.get(worker_id)
    if worker is None or worker.liveness is Liveness.GONE:
        return False
    worker.drain = DRAIN.next(worker.drain, DrainTrigger.UNDO if undo else DrainTrigger.DRAIN)
    cluster.put_worker(worker)
    tell(cluster, worker)
    if reclaim and not undo:
        for run_id in cluster.runs_on.get(worker_id, {}):
            on_preempted(cluster, run_id, Asked("drain"))
    finish(cluster, worker)
    return True


def on_slot(cluster: Cluster, worker_id: WorkerId, slot: int, undo: bool) -> None:
    """One slot takes no more work (or again, with `undo`); what is there ends by itself. Of an unknown worker nothing is kept."""
    worker = cluster.workers.get(worker_id)
    if worker is None or (slot in worker.disabled) != undo:
        return
    worker.disabled = worker.disabled - {slot} if undo else worker.disabled | {slot}
    cluster.put_worker(worker)
    tell(cluster, worker)


def on_leaving(cluster: Cluster, worker: Worker, leaving: Leaving | None) -> None:
    """Its provider takes the machine back, and it said so: nothing more is granted there. Where it has said when, runs are asked for their
    slots, but those that can do without it, which lose nothing. None: it stays, or stays after all."""
    if worker.is_leaving != (leaving is not None):
        worker.is_leaving = leaving is not None
        cluster.put_worker(worker)
        tell(cluster, worker)
    if leaving is None or leaving.in_s is None:
        return
    for run_id in list(cluster.runs_on.get(worker.id, {})):
        run = cluster.runs[run_id]
        if not forming.can_do_without(run, cluster.trials[run.trial], worker.id):
            on_preempted(cluster, run_id, Asked("leaving"))


def tell(cluster: Cluster, worker: Worker) -> None:
    """Its tables and neighbours learn what has changed of a worker. Of a drained one it is said again that it is empty: a newer word
    without it would hide the older one that had it."""
    cluster.changes.workers[worker.id] = None
    cluster.tell(WorkerUp(worker))
    if worker.drain is Drain.DRAINED:
        cluster.tell(WorkerEmptied(worker))


def finish(cluster: Cluster, worker: Worker) -> None:
    """The last that was waited for may have happened."""
    if worker.drain is not Drain.DRAINING or worker.held or not worker.is_empty or not worker.is_heard:
        return
    if any(not cluster.runs[run_id].is_ended for run_id in cluster.runs_on.get(worker.id, {})):
        return
    worker.drain = DRAIN.next(worker.drain, DrainTrigger.EMPTIED)
    cluster.put_worker(worker)
    cluster.changes.workers[worker.id] = None
    cluster.tell(WorkerEmptied(worker))

"""Events from workers: an observed set was heard, a worker has fallen silent or is gone. Neighbour: `draining`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from services.scheduler.core.cluster import Cluster
from services.scheduler.core.elastic import forming
from services.scheduler.core.elastic.reporting import on_measured
from services.scheduler.core.events import draining, ends, stops
from services.scheduler.core.facts import WorkerDown, WorkerGone
from services.scheduler.core.placement.labels import Labels
from services.scheduler.core.run import Exit, Gang, Run
from services.scheduler.core.run_states import GangState, GangTrigger
from services.scheduler.core.trial import without
from services.scheduler.core.worker import LIVENESS, Hold, Liveness, LivenessTrigger, Worker
from shared.ids import AllocationId, PoolName, RunId, WorkerId
from shared.messages.allocations import Leaving, Measured
from shared.messages.specs import Signal, SlotKind
from shared.tuples import changed

REMOVED = "its instance is gone"
VANISHED = "the worker no longer knows the run"


@dataclass(frozen=True, slots=True)
class Observed:
    """What a worker has of one allocation. `exit` is set when its ranks have ended; `measured`: how an elastic run trains; `is_excluded`: a log policy
    keeps later runs of its trial off this machine; `hangs`: its ranks there do, as far as that worker sees."""

    allocation: AllocationId
    run: RunId
    token: int
    generation: int = 1
    state: Literal["preparing", "running", "exited"] = "running"
    wanted: Signal = Signal.RUN
    decide_at: float | None = None
    rendezvous: str | None = None
    step: int = 0
    checkpoints: int = 0
    measured: Measured | None = None
    is_excluded: bool = False
    is_live: bool = False
    prepared: int = 1
    joined: int = 1
    hangs: bool = False
    exit: Exit | None = None


@dataclass(frozen=True, slots=True)
class Heard:
    """One observed set. `is_empty`: nothing runs there, and its journal and uploads are empty; `leaving`: what its provider has said."""

    worker: WorkerId
    pool: PoolName
    kind: SlotKind | None
    slot_ids: tuple[int, ...]
    address: str = "127.0.0.1"
    labels: Labels = ()
    is_isolated: bool = False
    is_empty: bool = True
    trouble: str | None = None
    leaving: Leaving | None = None
    allocations: tuple[Observed, ...] = ()


def on_heard(cluster: Cluster, heard: Heard, now: datetime) -> None:
    """Applies an observed set: the worker lives; its exits are applied once; what it has lost or must drop is found."""
    worker = cluster.workers.get(heard.worker) or Worker(heard.worker, heard.pool)
    if worker.liveness is Liveness.GONE:
        return
    _update_worker(cluster, worker, heard, now)
    named = {observed.allocation for observed in heard.allocations}
    for observed in heard.allocations:
        _on_observed(cluster, worker, observed, now)
    for run_id in list(cluster.runs_on.get(worker.id, {})):
        run = cluster.runs[run_id]
        if run.allocation not in named:
            _on_unnamed(cluster, worker, run, now)
    draining.on_leaving(cluster, worker, heard.leaving)
    granted = {
        cluster.runs[run].allocation
        for run in cluster.runs_on.get(worker.id, {})
        if not cluster.runs[run].is_ended
    }
    for allocation in worker.held.keys() - named - granted:
        cluster.release(worker, allocation)
    draining.finish(cluster, worker)


def stale_of(cluster: Cluster, heard: Heard) -> tuple[Observed, ...]:
    """What still runs there of runs that have ended, or whose allocation was another."""
    return tuple(
        one
        for one in heard.allocations
        if one.exit is None
        and ((run := cluster.runs.get(one.run)) is None or run.is_ended or run.token != one.token)
    )


def on_joined(cluster: Cluster, worker_id: WorkerId, pool: PoolName) -> None:
    """A worker has got credentials; it takes work once it is heard."""
    if worker_id not in cluster.workers:
        cluster.put_worker(Worker(worker_id, pool))


def on_silent(cluster: Cluster, worker_id: WorkerId, reason: str, now: datetime) -> None:
    """A worker is given up: nothing is granted there, and its runs may start elsewhere."""
    worker = cluster.workers[worker_id]
    if worker.liveness in (Liveness.LOST, Liveness.GONE):
        return
    _move(cluster, worker, LivenessTrigger.SILENT)
    cluster.tell(WorkerDown(worker, reason))
    for run_id in list(cluster.runs_on.get(worker_id, {})):
        ends.on_loss(cluster, cluster.runs[run_id], worker_id, reason, now)


def on_removed(cluster: Cluster, worker_id: WorkerId, now: datetime) -> None:
    """Its instance is gone for good: what it held is lost with it, and nothing more is heard of it."""
    worker = cluster.workers.get(worker_id)
    if worker is None or worker.liveness is Liveness.GONE:
        return
    if worker.liveness is not Liveness.LOST:
        on_silent(cluster, worker_id, REMOVED, now)
    worker.clear()
    _move(cluster, worker, LivenessTrigger.REMOVED)
    cluster.tell(WorkerGone(worker, REMOVED))


def on_lost_for_good(cluster: Cluster, worker_id: WorkerId, reason: str) -> None:
    """A worker that was given up long ago has not been heard since: nothing that only it holds is waited for any more."""
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness is Liveness.LOST:
        cluster.tell(WorkerGone(worker, reason))


def _update_worker(cluster: Cluster, worker: Worker, heard: Heard, now: datetime) -> None:
    before = _public(worker), worker.is_heard, worker.trouble
    worker.liveness = LIVENESS.next(worker.liveness, LivenessTrigger.HEARD)
    worker.equip(heard.slot_ids, heard.kind)
    worker.address, worker.labels, worker.is_isolated = heard.address, heard.labels, heard.is_isolated
    worker.is_heard, worker.is_empty, worker.trouble = True, heard.is_empty, heard.trouble
    worker.joined_at = worker.joined_at or now
    after = _public(worker), worker.is_heard, worker.trouble
    if before == after:
        return
    cluster.put_worker(worker)
    if before[0] != after[0]:
        draining.tell(cluster, worker)


def _public(worker: Worker) -> tuple[object, ...]:
    """What its tables and neighbours have of a worker that says so itself."""
    return (
        worker.liveness,
        worker.slot_ids,
        worker.kind,
        worker.address,
        worker.labels,
        worker.is_isolated,
    )


def _on_observed(cluster: Cluster, worker: Worker, observed: Observed, now: datetime) -> None:
    run = cluster.runs.get(observed.run)
    if run is None or run.token != observed.token or worker.id not in run.workers:
        _hold_foreign(cluster, worker, observed)
        return
    if observed.is_excluded:
        _exclude(cluster, worker, run)
    if (
        observed.exit is not None
        and observed.generation < run.gang.generation
        and worker.id not in run.gang.seen
    ):
        cluster.want((worker.id,))  # what it had of the run once: it makes room for the new part
        return
    if observed.exit is not None:
        cluster.release(worker, run)
        ends.on_exit(cluster, run, worker.id, observed.exit, now)
        return
    if run.is_ended:
        _hold_zombie(cluster, worker, run)
        return
    _follow(cluster, worker, run, observed, now)


def _exclude(cluster: Cluster, worker: Worker, run: Run) -> None:
    trial = cluster.trials.get(run.trial)
    if trial is not None and worker.id not in trial.excluded:
        cluster.put_trial(without(trial, worker.id))


def _follow(cluster: Cluster, worker: Worker, run: Run, observed: Observed, now: datetime) -> None:
    gang = _gang_heard(run, worker.id, observed)
    followed = run if gang is run.gang else changed(run, gang=gang)
    if _is_told(run.gang, gang):
        cluster.want(run.workers)
    progress = run.progress
    if observed.step > progress.step:
        followed = stops.trained(cluster, followed, now)
    if observed.step > progress.step or observed.checkpoints > progress.checkpoints:
        # Known in memory only: a heartbeat a second is not worth a row.
        followed = followed.with_progress(
            step=max(progress.step, observed.step),
            checkpoints=max(progress.checkpoints, observed.checkpoints),
            saved_at=now if observed.checkpoints > progress.checkpoints else progress.saved_at,
        )
    cluster.follow(followed)
    if observed.measured is not None and worker.id == run.chief and run.gang.state is not GangState.FORMING:
        on_measured(cluster, run, observed.measured)
    if (gang.state, gang.is_live, followed.took) != (run.gang.state, run.gang.is_live, run.took):
        cluster.put_run(followed, lazily=True)
    forming.settle(cluster, run.id, now)
    forming.mend(cluster, run.id, now)


def _gang_heard(run: Run, worker: WorkerId, observed: Observed) -> Gang:
    """The gang with what a member says: that it is there, where ranks meet, what it is ready for."""
    gang = run.gang
    if worker not in gang.seen:
        gang = changed(gang, seen=gang.seen | {worker})
    if gang.state is GangState.STARTING and gang.seen >= gang.workers:
        gang = gang.moved(GangTrigger.HEARD)
    if worker == run.chief and observed.generation >= gang.generation:
        if observed.rendezvous != gang.rendezvous:
            gang = changed(gang, rendezvous=observed.rendezvous)
        if observed.is_live != gang.is_live:
            gang = changed(gang, is_live=observed.is_live)
    gang = forming.followed(gang, worker, observed.generation, observed.prepared, observed.joined)
    if observed.hangs != (worker in gang.hung):
        gang = changed(gang, hung=gang.hung ^ {worker})
    return gang


def _is_told(before: Gang, gang: Gang) -> bool:
    """Whether the members are to learn something of each other: where they meet, that they may, or that all hang."""
    return (
        gang.rendezvous != before.rendezvous
        or (gang.may_meet and not before.may_meet)
        or (gang.hangs and gang.hung != before.hung)
    )


def _on_unnamed(cluster: Cluster, worker: Worker, run: Run, now: datetime) -> None:
    if run.is_ended:
        cluster.release(worker, run)
        if worker.id not in run.gang.released:
            cluster.put_run(run.released_by(worker.id), lazily=True)
    elif worker.id in run.gang.seen and worker.id not in run.gang.released:
        cluster.release(worker, run)
        ends.on_loss(cluster, run, worker.id, VANISHED, now)


def _hold_foreign(cluster: Cluster, worker: Worker, observed: Observed) -> None:
    cluster.want((worker.id,))
    if observed.exit is not None:
        cluster.release(worker, observed.allocation)
    elif observed.allocation not in worker.held:
        worker.hold(observed.allocation, Hold(None, ()))
        cluster.put_worker(worker)


def _hold_zombie(cluster: Cluster, worker: Worker, run: Run) -> None:
    cluster.want((worker.id,))
    if run.allocation not in worker.held:
        share = next(share for share in run.shares if share.worker == worker.id)
        worker.hold(run.allocation, Hold(run.tenant, share.slot_ids, share.part))
        cluster.put_worker(worker)


def _move(cluster: Cluster, worker: Worker, trigger: LivenessTrigger) -> None:
    worker.liveness = LIVENESS.next(worker.liveness, trigger)
    worker.is_heard = worker.is_heard and trigger is not LivenessTrigger.SILENT
    cluster.put_worker(worker)
    cluster.changes.workers[worker.id] = None

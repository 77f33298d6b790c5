"""Events from workers: an observed set was heard, a worker has fallen silent or is gone. Neighbour: `draining`."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from services.scheduler.core.changes import Changes
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.draft import Draft
from services.scheduler.core.elastic import forming
from services.scheduler.core.elastic.reporting import measure
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


def on_heard(cluster: Cluster, heard: Heard, now: datetime) -> Changes:
    """An observed set: the worker lives; its exits are applied once; what it has lost or must drop is found."""
    draft = Draft(cluster)
    worker = cluster.workers.get(heard.worker) or Worker(heard.worker, heard.pool)
    if worker.liveness is Liveness.GONE:
        return draft
    worker = _updated(draft, worker, heard, now)
    for observed in heard.allocations:
        _on_observed(draft, worker, observed, now)
    named = {observed.allocation for observed in heard.allocations}
    for run in draft.runs_on(worker.id):
        if run.allocation not in named:
            _on_unnamed(draft, worker, run, now)
    worker = draining.leave(draft, worker, heard.leaving)
    granted = {run.allocation for run in draft.runs_on(worker.id) if not run.is_ended}
    for allocation in worker.held.keys() - named - granted:
        draft.release(worker.id, allocation)
    draining.finish(draft, worker)
    return draft


def stale_of(cluster: Cluster, heard: Heard) -> tuple[Observed, ...]:
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
    draft.tell(WorkerGone(worker, REMOVED))
    return draft


def on_lost_for_good(cluster: Cluster, worker_id: WorkerId, reason: str) -> Changes:
    """A worker that was given up long ago has not been heard since: nothing that only it holds is waited for any more."""
    draft = Draft(cluster)
    worker = cluster.workers.get(worker_id)
    if worker is not None and worker.liveness is Liveness.LOST:
        draft.tell(WorkerGone(worker, reason))
    return draft


def _lose(draft: Draft, worker: Worker, reason: str, now: datetime) -> Worker:
    worker = _moved(draft, worker, LivenessTrigger.SILENT)
    draft.tell(WorkerDown(worker, reason))
    for run in draft.runs_on(worker.id):
        ends.lose(draft, run, worker.id, reason, now)
    return worker


def _updated(draft: Draft, worker: Worker, heard: Heard, now: datetime) -> Worker:
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
        draining.tell(draft, after)
    return after


def _says_the_same(worker: Worker, heard: Heard) -> bool:
    is_known = worker.is_heard and worker.liveness is Liveness.READY
    return is_known and worker.trouble == heard.trouble and _public(worker) == _public(heard)


def _public(whose: Worker | Heard) -> tuple[object, ...]:
    """What its tables and neighbours have of a worker that says so itself."""
    return (whose.slot_ids, whose.kind, whose.address, whose.labels, whose.is_isolated)


def _on_observed(draft: Draft, worker: Worker, observed: Observed, now: datetime) -> None:
    run = draft.cluster.runs.get(observed.run)
    if run is None or run.token != observed.token or worker.id not in run.workers:
        _hold_foreign(draft, worker, observed)
        return
    if observed.is_excluded:
        _exclude(draft, worker, run)
    if observed.exit is not None:
        if observed.generation < run.gang.generation and worker.id not in run.gang.seen:
            draft.want((worker.id,))  # what it had of the run once: it makes room for the new part
            return
        draft.release(worker.id, run)
        ends.leave(draft, run, worker.id, observed.exit, now)
    elif run.is_ended:
        _hold_zombie(draft, worker, run)
    else:
        _follow(draft, worker, run, observed, now)


def _exclude(draft: Draft, worker: Worker, run: Run) -> None:
    trial = draft.cluster.trials.get(run.trial)
    if trial is not None and worker.id not in trial.excluded:
        draft.put_trial(without(trial, worker.id))


def _follow(draft: Draft, worker: Worker, run: Run, observed: Observed, now: datetime) -> None:
    gang = _gang_heard(run, worker.id, observed)
    followed = run if gang is run.gang else changed(run, gang=gang)
    if gang is not run.gang and _is_told(run.gang, gang):
        draft.want(run.workers)
    progress = run.progress
    if observed.step > progress.step:
        followed = stops.trained(draft, followed, now)
    if observed.step > progress.step or observed.checkpoints > progress.checkpoints:
        # Known in memory only: a heartbeat a second is not worth a row.
        followed = followed.with_progress(
            step=max(progress.step, observed.step),
            checkpoints=max(progress.checkpoints, observed.checkpoints),
            saved_at=now if observed.checkpoints > progress.checkpoints else progress.saved_at,
        )
    if observed.measured is not None and worker.id == run.chief and run.gang.state is not GangState.FORMING:
        measure(draft, run, observed.measured)
    if (gang.state, gang.is_live, followed.took) != (run.gang.state, run.gang.is_live, run.took):
        draft.put_run(followed, lazily=True)
    elif followed is not run:
        draft.follow(followed)
    forming.settle(draft, followed, now)
    forming.mend(draft, draft.run(run.id), now)


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


def _on_unnamed(draft: Draft, worker: Worker, run: Run, now: datetime) -> None:
    if run.is_ended:
        draft.release(worker.id, run)
        if worker.id not in run.gang.released:
            draft.put_run(run.released_by(worker.id), lazily=True)
    elif worker.id in run.gang.seen and worker.id not in run.gang.released:
        draft.release(worker.id, run)
        ends.lose(draft, run, worker.id, VANISHED, now)


def _hold_foreign(draft: Draft, worker: Worker, observed: Observed) -> None:
    draft.want((worker.id,))
    if observed.exit is not None:
        draft.release(worker.id, observed.allocation)
    elif observed.allocation not in worker.held:
        draft.hold(worker.id, observed.allocation, Hold(None, ()))


def _hold_zombie(draft: Draft, worker: Worker, run: Run) -> None:
    draft.want((worker.id,))
    if run.allocation not in worker.held:
        share = next(share for share in run.shares if share.worker == worker.id)
        draft.hold(worker.id, run.allocation, Hold(run.tenant, share.slot_ids, share.part))


def _moved(draft: Draft, worker: Worker, trigger: LivenessTrigger) -> Worker:
    is_heard = worker.is_heard and trigger is not LivenessTrigger.SILENT
    worker = replace(worker, liveness=LIVENESS.next(worker.liveness, trigger), is_heard=is_heard)
    draft.put_worker(worker)
    draft.worker_rows[worker.id] = None
    return worker

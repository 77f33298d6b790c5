"""Events from the searcher, the registry and people: what is wanted of a trial, and that its checkpoints have arrived."""

from datetime import datetime
from uuid import UUID

from services.scheduler.core.asked import Asked
from services.scheduler.core.cluster import Cluster
from services.scheduler.core.endings import outcome_without_run
from services.scheduler.core.events.grants import on_preempted
from services.scheduler.core.facts import Closed
from services.scheduler.core.pool import Quota
from services.scheduler.core.queue import Part
from services.scheduler.core.reservations import Reservation
from services.scheduler.core.shares import Path
from services.scheduler.core.trial import (
    Awaited,
    RequestState,
    RequestTrigger,
    Trial,
    Wish,
    is_news,
    open_request,
    wished,
)
from shared.ids import ExperimentId, PoolName, RunId
from shared.messages.specs import Wanted
from shared.tuples import changed


def on_wish(cluster: Cluster, wish: Wish, place: int, now: datetime) -> None:
    """A newer wish opens a request, changes one, or closes one that has no run. Late and repeated ones change nothing."""
    trial = cluster.trials.get(wish.trial)
    if not is_news(trial, wish):
        return
    if wish.pool not in cluster.pools:
        _refuse(cluster, open_request(trial, wish, place, now))
        return
    if trial is None or trial.is_closed:
        trial = open_request(trial, wish, place, now)
        trial = _await_uploads(cluster, trial)
    else:
        trial = wished(trial, wish)
    if trial.state is RequestState.RUNNING:
        cluster.put_trial(trial, lazily=True)
        _pass_on(cluster, trial)
    elif wish.wanted is Wanted.RUN:
        cluster.put_trial(trial)
    else:
        close(cluster, trial, now)


def on_part(cluster: Cluster, experiment: ExperimentId, part: Part) -> None:
    """A person edits an experiment's part in the queue; runs in a pool it leaves are asked for their slots."""
    cluster.put_part(experiment, part)
    if part.pool is None:
        return
    for trial_id in cluster.live.get(experiment, {}):
        run = cluster.runs.get(cluster.trials[trial_id].run or RunId(trial_id))
        if run and run.pool != part.pool:
            on_preempted(cluster, run.id, Asked("move"))


def on_quota(cluster: Cluster, pool: PoolName, path: Path, quota: Quota | None) -> None:
    """A person changes what a tenant, or a workspace of one, may hold; None: nothing is said any more."""
    if pool in cluster.pools:
        cluster.put_quota(pool, path, quota)


def on_reserved(cluster: Cluster, reservation: Reservation) -> None:
    """Slots of a pool are booked for a window of time; one of the same id is replaced."""
    pool = cluster.pools.get(reservation.pool)
    if pool is not None and reservation.end_ms > cluster.now_ms:
        pool.reservations[reservation.id] = reservation
        cluster.changes.pools[reservation.pool] = None


def on_reservation_cancelled(cluster: Cluster, reservation: UUID) -> None:
    """A booking is given up; what its holder runs goes on."""
    for name, pool in cluster.pools.items():
        if pool.reservations.pop(reservation, None) is not None:
            cluster.changes.pools[name] = None


def on_settled(cluster: Cluster, run_id: RunId, now: datetime, settled: int = 1) -> None:
    """Announced checkpoints of a run have been committed or given up; the last one lets the successor be granted."""
    run = cluster.runs.get(run_id)
    if run is None:
        return
    cluster.put_run(run.with_progress(settled=run.progress.settled + settled), lazily=True)
    trial = cluster.trials.get(run.trial)
    if trial and trial.awaited and trial.awaited.run == run_id:
        _admit_when_due(cluster, trial, now)


def on_tick(cluster: Cluster, now: datetime) -> None:
    """Requests whose back-off is over wait no longer."""
    for trial_id in list(cluster.awaiting):
        _admit_when_due(cluster, cluster.trials[trial_id], now)


def close(cluster: Cluster, trial: Trial, now: datetime) -> None:
    """Ends a request that has no run: it was stopped, parked or cancelled while it waited."""
    outcome = outcome_without_run(trial.wish.wanted)
    trial = trial.moved(RequestTrigger.CLOSED, now)
    cluster.put_trial(trial)
    cluster.tell(Closed(trial, outcome))


def is_settled(cluster: Cluster, awaited: Awaited) -> bool:
    """Whether nothing more is to be waited for. A run that has left memory was settled: others stay (`Cycle.forget_old`)."""
    run = cluster.runs.get(awaited.run)
    return run is None or run.progress.settled >= awaited.announced


def _admit_when_due(cluster: Cluster, trial: Trial, now: datetime) -> None:
    if trial.awaited and is_settled(cluster, trial.awaited):
        trial = changed(trial, awaited=None)
    if trial.not_before is not None and trial.not_before <= now:
        trial = changed(trial, not_before=None)
    if trial.state is RequestState.AWAITING and trial.awaited is None and trial.not_before is None:
        trial = trial.moved(RequestTrigger.SETTLED)
    if trial is not cluster.trials[trial.id]:
        cluster.put_trial(trial)


def _await_uploads(cluster: Cluster, trial: Trial) -> Trial:
    if trial.awaited is None:
        return trial
    if is_settled(cluster, trial.awaited):
        return changed(trial, awaited=None)
    return trial.moved(RequestTrigger.AWAITED)


def _pass_on(cluster: Cluster, trial: Trial) -> None:
    run = cluster.runs[trial.run] if trial.run else None
    if run is None or run.is_ended:
        return
    if trial.wish.wanted is Wanted.PARK and not run.pause_asked:
        cluster.put_run(changed(run, pause_asked=True))
    cluster.want(run.workers)


def _refuse(cluster: Cluster, trial: Trial) -> None:
    trial = trial.moved(RequestTrigger.CLOSED)
    cluster.put_trial(trial)
    cluster.tell(Closed(trial, "rejected", f"pool {trial.wish.pool} does not exist"))

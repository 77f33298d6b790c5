"""Events from the searcher, the registry and users: requests, policies, quotas, reservations, and settled
checkpoints."""

from datetime import datetime
from uuid import UUID

from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.grants import preempt
from services.scheduler.core.reducers.run_outcomes import outcome_without_run
from services.scheduler.core.state.changes import Changes, NewQuota, SetExperimentPolicy, SetReservation
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Closed
from services.scheduler.core.state.records.pool import Path, Quota
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import (
    AwaitedUploads,
    RequestState,
    RequestTrigger,
    Trial,
    TrialRequest,
    is_newer,
    open_request,
    with_request,
)
from shared.ids import ExperimentId, PoolName, RunId
from shared.messages.trial_specs import DesiredState
from shared.tuples import changed


def on_request(cluster: Cluster, request: TrialRequest, submission_order: int, now: datetime) -> Changes:
    """Apply a newer request of a trial: open a request, change it, or close it if it has no run. Late and
    repeated ones change nothing."""
    draft = Draft(cluster)
    trial = cluster.trials.get(request.trial)
    if not is_newer(trial, request):
        return draft
    if request.pool not in cluster.pools:
        _refuse(draft, open_request(trial, request, submission_order, now))
        return draft
    if trial is None or trial.is_closed:
        trial = _await_uploads(cluster, open_request(trial, request, submission_order, now))
    else:
        trial = with_request(trial, request)
    if trial.state is RequestState.RUNNING:
        draft.put_trial(trial, lazily=True)
        _pass_on(draft, trial)
    elif request.desired_state is DesiredState.RUN:
        draft.put_trial(trial)
    else:
        _close(draft, trial, now)
    return draft


def on_experiment_policy(cluster: Cluster, experiment: ExperimentId, policy: ExperimentPolicy) -> Changes:
    """Set an experiment's policy. Its runs in other pools are preempted if its pool changed."""
    draft = Draft(cluster)
    draft.rules.append(SetExperimentPolicy(experiment, policy))
    if policy.pool is None:
        return draft
    for trial_id in cluster.live.get(experiment, {}):
        run = cluster.runs.get(cluster.trials[trial_id].run or RunId(trial_id))
        if run and run.pool != policy.pool:
            preempt(draft, run, PreemptionNotice("move"))
    return draft


def on_quota(cluster: Cluster, pool: PoolName, path: Path, quota: Quota | None) -> Changes:
    """Set the quota of a tenant, or of one of its workspaces; None removes it."""
    draft = Draft(cluster)
    if pool in cluster.pools:
        draft.rules.append(NewQuota(pool, path, quota))
    return draft


def on_reserved(cluster: Cluster, reservation: Reservation) -> Changes:
    """Reserve slots of a pool for a time window, replacing a reservation with the same id."""
    draft = Draft(cluster)
    if reservation.pool in cluster.pools and reservation.end_ms > cluster.now_ms:
        draft.rules.append(SetReservation(reservation.pool, reservation.id, reservation))
    return draft


def on_reservation_cancelled(cluster: Cluster, reservation: UUID) -> Changes:
    """Cancel a reservation. Its holder's runs continue."""
    draft = Draft(cluster)
    for name, pool in cluster.pools.items():
        if reservation in pool.reservations:
            draft.rules.append(SetReservation(name, reservation, None))
    return draft


def on_settled(cluster: Cluster, run_id: RunId, now: datetime, settled: int = 1) -> Changes:
    """Count announced checkpoints of a run that were committed or abandoned. The last one makes the trial
    eligible for a grant."""
    draft = Draft(cluster)
    run = cluster.runs.get(run_id)
    if run is None:
        return draft
    draft.put_run(run.with_progress(settled=run.progress.settled + settled), lazily=True)
    trial = cluster.trials.get(run.trial)
    if trial and trial.awaited and trial.awaited.run == run_id:
        _admit_when_due(draft, trial, now)
    return draft


def on_tick(cluster: Cluster, now: datetime) -> Changes:
    """Make requests eligible again whose back-off is over."""
    draft = Draft(cluster)
    for trial_id in cluster.awaiting:
        _admit_when_due(draft, cluster.trials[trial_id], now)
    return draft


def is_settled(run: Run | None, awaited: AwaitedUploads) -> bool:
    """Whether no checkpoint is pending. A run that has left memory was settled, because others are kept
    (`Cycle.forget_old`)."""
    return run is None or run.progress.settled >= awaited.announced


def _admit_when_due(draft: Draft, trial: Trial, now: datetime) -> None:
    before = trial
    if trial.awaited and is_settled(_awaited_run(draft, trial.awaited), trial.awaited):
        trial = changed(trial, awaited=None)
    if trial.not_before is not None and trial.not_before <= now:
        trial = changed(trial, not_before=None)
    if trial.state is RequestState.AWAITING and trial.awaited is None and trial.not_before is None:
        trial = trial.moved(RequestTrigger.SETTLED)
    if trial is not before:
        draft.put_trial(trial)


def _awaited_run(draft: Draft, awaited: AwaitedUploads) -> Run | None:
    return draft.run(awaited.run) if awaited.run in draft.cluster.runs else None


def _await_uploads(cluster: Cluster, trial: Trial) -> Trial:
    if trial.awaited is None:
        return trial
    if is_settled(cluster.runs.get(trial.awaited.run), trial.awaited):
        return changed(trial, awaited=None)
    return trial.moved(RequestTrigger.AWAITED)


def _pass_on(draft: Draft, trial: Trial) -> None:
    run = draft.run(trial.run) if trial.run else None
    if run is None or run.is_ended:
        return
    if trial.request.desired_state is DesiredState.PARK and not run.pause_requested:
        draft.put_run(changed(run, pause_requested=True))
    draft.want(run.workers)


def _close(draft: Draft, trial: Trial, now: datetime) -> None:
    """Close a request without a run that was stopped, parked or cancelled while it waited."""
    trial = trial.moved(RequestTrigger.CLOSED, now)
    draft.put_trial(trial)
    draft.emit(Closed(trial, outcome_without_run(trial.request.desired_state)))


def _refuse(draft: Draft, trial: Trial) -> None:
    trial = trial.moved(RequestTrigger.CLOSED)
    draft.put_trial(trial)
    draft.emit(Closed(trial, "rejected", f"pool {trial.request.pool} does not exist"))

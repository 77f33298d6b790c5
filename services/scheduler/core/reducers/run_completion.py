"""Ends of runs: members exit, machines are lost. `run_outcomes` defines the outcome."""

from datetime import datetime, timedelta

from services.scheduler.core.reducers import gang_forming, pause_measurements
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.run_outcomes import combined, outcome_of_exit, outcome_of_loss
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.published_events import Closed, Ended
from services.scheduler.core.state.records.outcomes import RunEnding
from services.scheduler.core.state.records.run import Progress, Run, RunExit
from services.scheduler.core.state.records.run_states import RunState, RunTrigger
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.trial import AwaitedUploads, RequestTrigger, Trial, back_off
from shared.ids import WorkerId
from shared.tuples import changed

GANG_GRACE = timedelta(seconds=30)
"""How long the other members may take to end after the first one has exited cleanly."""


def on_exit(cluster: Cluster, run: Run, worker: WorkerId, exited: RunExit, now: datetime) -> Changes:
    """Apply the exit of one member: its slots are free. The run ends with its last member. A failure kills the
    rest."""
    draft = Draft(cluster)
    leave(draft, run, worker, exited, now)
    return draft


def on_tick(cluster: Cluster, now: datetime) -> Changes:
    """Kill the rest of gangs whose first member exited cleanly more than `GANG_GRACE` ago."""
    draft = Draft(cluster)
    for run in [cluster.runs[run_id] for run_id in cluster.ending]:
        if run.first_exit_at and now - run.first_exit_at >= GANG_GRACE:
            draft.put_run(run.moved(RunTrigger.GRACE_OVER), lazily=True)
            draft.want(run.workers)
    return draft


def leave(draft: Draft, run: Run, worker: WorkerId, exited: RunExit, now: datetime) -> None:
    """See `on_exit`."""
    if worker in run.gang.released or worker not in run.workers:
        return
    draft.release(worker, run)
    draft.want((worker,))
    if gang_forming.is_leaver(run, worker):
        gang_forming.leave(draft, run, worker, now)
    elif gang_forming.is_loss(exited) and gang_forming.can_do_without(run, draft.trial(run.trial), worker):
        gang_forming.do_without(draft, run, worker, now)
    else:
        _leave_for_good(draft, run, worker, exited, now)


def lose_member(draft: Draft, run: Run, worker: WorkerId, reason: str, now: datetime) -> None:
    """Apply the loss of a machine. The run ends and the other members are stopped, unless the run can continue
    without this member."""
    trial = draft.trial(run.trial)
    if gang_forming.is_leaver(run, worker) and not run.is_ended:
        gang_forming.leave(draft, run, worker, now)
    elif gang_forming.can_do_without(run, trial, worker):
        gang_forming.do_without(draft, run, worker, now)
    elif run.is_ended:
        draft.put_run(run.released_by(worker), lazily=True)
    else:
        draft.want(run.workers)
        run = run.released_by(worker)
        _end(draft, run, trial, outcome_of_loss(trial, run, reason), None, now)


def _leave_for_good(draft: Draft, run: Run, worker: WorkerId, exited: RunExit, now: datetime) -> None:
    exits = (*run.exits, (worker, exited))
    run = run.released_by(worker, exits=exits, first_exit_at=run.first_exit_at or now)
    if not run.is_ended and len(run.gang.released) == len(run.shares):
        _conclude(draft, run, combined(run), now)
        return
    after = run.moved(RunTrigger.MEMBER_DONE if exited.is_clean else RunTrigger.MEMBER_FAILED)
    # Must be saved before the worker forgets it; otherwise a new leader would miss a member.
    draft.put_run(after, lazily=run.is_ended)
    if after.state is RunState.KILLING and run.state is not RunState.KILLING:
        draft.want(run.workers)


def _conclude(draft: Draft, run: Run, exited: RunExit, now: datetime) -> None:
    trial = draft.trial(run.trial)
    before = run.progress
    progress = Progress(exited.step, exited.checkpoints, before.saved_at, exited.checkpoints, before.settled)
    run = changed(run, progress=progress)
    _end(draft, run, trial, outcome_of_exit(trial, run, exited), exited, now)


def _end(
    draft: Draft, run: Run, trial: Trial, ending: RunEnding, exited: RunExit | None, now: datetime
) -> None:
    is_stale = ending.outcome == "lost" or (exited is not None and exited.forced)
    run = pause_measurements.left(draft, run.ended(now, is_stale), now)
    draft.put_run(run)
    if run.slots:
        held_ms = milliseconds(now) - milliseconds(run.granted_at)
        draft.held.append((run.pool, run.experiment, held_ms))
    promised = run.asked.slots if run.asked else None
    if promised is not None and ending.outcome == "preempted" and ending.reason is None:
        ending = ending._replace(reason=_resized(run.slots, promised))
    trial = _counted(trial, run, ending, promised is not None)
    if not run.progress.is_settled:
        trial = changed(trial, awaited=AwaitedUploads(run.id, run.progress.announced or 0))
    trial = trial.moved(_trigger_of(trial, ending), now)
    draft.put_trial(trial)
    draft.emit(Ended(run, trial, ending, exited))
    if ending.closes is not None:
        draft.emit(Closed(trial, ending.closes, ending.reason, ending.is_invalid))


def _trigger_of(trial: Trial, ending: RunEnding) -> RequestTrigger:
    if ending.closes is not None:
        return RequestTrigger.CLOSED
    return RequestTrigger.AWAITED if trial.awaited or trial.not_before else RequestTrigger.REQUEUED


def _resized(before: SlotCount, after: int) -> str:
    if before == after:
        return "migrated, so that another trial fits; not counted against max_restarts"
    verb = "grows" if after > before else "shrinks"
    return f"the trial {verb} from {before} to {after} slots; not counted against max_restarts"


def _counted(trial: Trial, run: Run, ending: RunEnding, is_resized: bool) -> Trial:
    has_progress = run.progress.step > trial.best_step or run.progress.checkpoints > 0
    has_yielded = ending.outcome == "preempted" and not is_resized
    has_ignored_signal = (
        ending.outcome == "preempted" and run.is_stale and (run.yields_time_slice or is_resized)
    )
    runs_without_progress = 0 if has_progress else trial.runs_without_progress + ending.lacks_progress
    delay = back_off(runs_without_progress) if ending.lacks_progress and not has_progress else None
    return changed(
        trial,
        restarts=trial.restarts + ending.charged,
        runs_without_progress=runs_without_progress,
        preemptions=trial.preemptions + (has_yielded and not run.yields_time_slice),
        time_slice_ended_at=run.ended_at
        if has_yielded and run.yields_time_slice
        else trial.time_slice_ended_at,
        ignores_signals=trial.ignores_signals or has_ignored_signal,
        best_step=max(trial.best_step, run.progress.step),
        awaited=None,
        not_before=run.ended_at + delay if run.ended_at and delay else None,
    )

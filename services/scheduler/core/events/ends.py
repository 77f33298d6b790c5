"""Events that end runs: members exit, machines are lost. What follows is judged in `run`."""

from datetime import datetime, timedelta

from services.scheduler.core.cluster import Cluster
from services.scheduler.core.elastic import forming
from services.scheduler.core.endings import Ending, combined, judge_exit, judge_loss
from services.scheduler.core.events import stops
from services.scheduler.core.facts import Closed, Ended
from services.scheduler.core.queue import milliseconds
from services.scheduler.core.run import Exit, Run
from services.scheduler.core.run_states import RunState, RunTrigger
from services.scheduler.core.slots import SlotCount
from services.scheduler.core.trial import Awaited, RequestTrigger, Trial, back_off
from shared.ids import WorkerId
from shared.tuples import changed

GANG_GRACE = timedelta(seconds=30)
"""How long the rest of a gang may take to end after its first member has ended well."""


def on_exit(cluster: Cluster, run: Run, worker: WorkerId, exited: Exit, now: datetime) -> None:
    """One member's ranks have ended: its slots are free; the run ends with its last member. A failure ends the rest."""
    workers = run.workers
    if worker in run.gang.released or worker not in workers:
        return
    if forming.is_leaver(run, worker):
        cluster.release(cluster.workers[worker], run)
        forming.on_left(cluster, run, worker, now)
        return
    if forming.is_loss(exited) and forming.can_do_without(run, cluster.trials[run.trial], worker):
        cluster.release(cluster.workers[worker], run)
        forming.do_without(cluster, run, worker, now)
        cluster.want((worker,))
        return
    run = changed(
        run, exits=(*run.exits, (worker, exited)), first_exit_at=run.first_exit_at or now
    ).released_by(worker)
    cluster.release(cluster.workers[worker], run)
    cluster.want((worker,))
    if not run.is_ended and run.gang.released >= workers:
        _conclude(cluster, run, combined(run), now)
        return
    after = run.moved(RunTrigger.MEMBER_DONE if exited.is_clean else RunTrigger.MEMBER_FAILED)
    # Saved before the worker may forget it: a new leader that knew nothing of it would miss a member.
    cluster.put_run(after, lazily=run.is_ended)
    if after.state is RunState.KILLING and run.state is not RunState.KILLING:
        cluster.want(workers)


def on_loss(cluster: Cluster, run: Run, worker: WorkerId, reason: str, now: datetime) -> None:
    """A machine is gone, and its part of the run with it: the run is over, and the other members are told to end theirs, unless
    it can do without."""
    if not run.is_ended and forming.is_leaver(run, worker):
        forming.on_left(cluster, run, worker, now)
        return
    if forming.can_do_without(run, cluster.trials[run.trial], worker):
        forming.do_without(cluster, run, worker, now)
        return
    run = run.released_by(worker)
    if run.is_ended:
        cluster.put_run(run, lazily=True)
        return
    trial = cluster.trials[run.trial]
    ending = judge_loss(trial, run, reason)
    cluster.want(run.workers)
    _end(cluster, run, trial, ending, None, now)


def on_tick(cluster: Cluster, now: datetime) -> None:
    """Gangs whose first member ended well long ago lose the rest."""
    for run_id in list(cluster.ending):
        run = cluster.runs[run_id]
        if run.first_exit_at and now - run.first_exit_at >= GANG_GRACE:
            cluster.put_run(run.moved(RunTrigger.GRACE_OVER), lazily=True)
            cluster.want(run.workers)


def _conclude(cluster: Cluster, run: Run, exited: Exit, now: datetime) -> None:
    trial = cluster.trials[run.trial]
    run = run.with_progress(step=exited.step, checkpoints=exited.checkpoints, announced=exited.checkpoints)
    _end(cluster, run, trial, judge_exit(trial, run, exited), exited, now)


def _end(
    cluster: Cluster, run: Run, trial: Trial, ending: Ending, exited: Exit | None, now: datetime
) -> None:
    is_stale = ending.outcome == "lost" or (exited is not None and exited.forced)
    run = run.renewed(is_stale=is_stale, ended_at=now).moved(RunTrigger.ENDED).or_released()
    run = stops.left(cluster, run, now)
    cluster.put_run(run)
    if run.slots:
        cluster.lengths.add(run.pool, run.experiment, milliseconds(now) - milliseconds(run.granted_at))
    promised = run.asked.slots if run.asked else None
    if promised is not None and ending.outcome == "preempted" and ending.reason is None:
        ending = ending._replace(reason=_resized(run.slots, promised))
    trial = _counted(trial, run, ending, promised is not None)
    if not run.progress.is_settled:
        trial = changed(trial, awaited=Awaited(run.id, run.progress.announced or 0))
    if ending.closes is not None:
        trial = trial.moved(RequestTrigger.CLOSED, now)
    else:
        waits = trial.awaited or trial.not_before
        trial = trial.moved(RequestTrigger.AWAITED if waits else RequestTrigger.REQUEUED, now)
    cluster.put_trial(trial)
    cluster.tell(Ended(run, trial, ending, exited))
    if ending.closes is not None:
        cluster.tell(Closed(trial, ending.closes, ending.reason, ending.is_invalid))


def _resized(before: SlotCount, after: int) -> str:
    if before == after:
        return "moved, so that others fit in its place; nothing is charged"
    verb = "grows" if after > before else "shrinks"
    return f"the trial {verb} from {before} to {after} slots; nothing is charged"


def _counted(trial: Trial, run: Run, ending: Ending, is_resized: bool) -> Trial:
    has_progress = run.progress.step > trial.best_step or run.progress.checkpoints > 0
    gave_way = ending.outcome == "preempted" and not is_resized
    is_deaf = ending.outcome == "preempted" and run.is_stale and (run.yields or is_resized)
    fruitless = 0 if has_progress else trial.fruitless + ending.counts_as_fruitless
    delay = back_off(fruitless) if ending.counts_as_fruitless and not has_progress else None
    return changed(
        trial,
        restarts=trial.restarts + ending.charged,
        fruitless=fruitless,
        preemptions=trial.preemptions + (gave_way and not run.yields),
        turned_at=run.ended_at if gave_way and run.yields else trial.turned_at,
        ignores_signals=trial.ignores_signals or is_deaf,
        best_step=max(trial.best_step, run.progress.step),
        awaited=None,
        not_before=run.ended_at + delay if run.ended_at and delay else None,
    )

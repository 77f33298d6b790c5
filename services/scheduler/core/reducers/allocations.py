"""Events about one allocation: its worker reports it, or no longer does."""

from datetime import datetime

from services.scheduler.core.reducers import gang_forming, pause_measurements, run_completion
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.elastic_reports import measure
from services.scheduler.core.state.observed import Observed
from services.scheduler.core.state.records.gang import Gang
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.run_states import GangState, GangTrigger
from services.scheduler.core.state.records.trial import excluding
from services.scheduler.core.state.records.worker import SlotHold, Worker
from shared.ids import WorkerId
from shared.tuples import changed

VANISHED = "the worker no longer reports the run"


def observe(draft: Draft, worker: Worker, observed: Observed, now: datetime) -> None:
    run = draft.run(observed.run) if observed.run in draft.cluster.runs else None
    if run is None or run.token != observed.token or worker.id not in run.workers:
        _hold_foreign(draft, worker, observed)
        return
    if observed.is_excluded:
        _exclude(draft, worker, run)
    if observed.exit is not None:
        if observed.generation < run.gang.generation and worker.id not in run.gang.seen:
            draft.want((worker.id,))  # an older share of the run: the worker drops it for the new one
            return
        draft.release(worker.id, run)
        run_completion.leave(draft, run, worker.id, observed.exit, now)
    elif run.is_ended:
        _hold_zombie(draft, worker, run)
    else:
        _follow(draft, worker, run, observed, now)


def _exclude(draft: Draft, worker: Worker, run: Run) -> None:
    trial = draft.trial(run.trial) if run.trial in draft.cluster.trials else None
    if trial is not None and worker.id not in trial.excluded:
        draft.put_trial(excluding(trial, worker.id))


def _follow(draft: Draft, worker: Worker, run: Run, observed: Observed, now: datetime) -> None:
    gang = _gang_observed(run, worker.id, observed)
    followed = run if gang is run.gang else changed(run, gang=gang)
    if gang is not run.gang and _must_notify(run.gang, gang):
        draft.want(run.workers)
    progress = run.progress
    if observed.step > progress.step:
        followed = pause_measurements.trained(draft, followed, now)
    if observed.step > progress.step or observed.checkpoints > progress.checkpoints:
        # In memory only: a heartbeat per second does not justify a write.
        followed = followed.with_progress(
            step=max(progress.step, observed.step),
            checkpoints=max(progress.checkpoints, observed.checkpoints),
            saved_at=now if observed.checkpoints > progress.checkpoints else progress.saved_at,
        )
    if observed.measured is not None and worker.id == run.chief and run.gang.state is not GangState.FORMING:
        measure(draft, run, observed.measured)
    if (gang.state, gang.is_live, followed.pause_times) != (
        run.gang.state,
        run.gang.is_live,
        run.pause_times,
    ):
        draft.put_run(followed, lazily=True)
    elif followed is not run:
        draft.follow(followed)
    gang_forming.finish_if_formed(draft, followed, now)
    gang_forming.reform_if_broken(draft, draft.run(run.id), now)


def _gang_observed(run: Run, worker: WorkerId, observed: Observed) -> Gang:
    """Return the gang with what a member reports: that it exists, its rendezvous, and what it is ready for."""
    gang = run.gang
    if worker not in gang.seen:
        gang = changed(gang, seen=gang.seen | {worker})
    if gang.state is GangState.STARTING and gang.seen >= gang.workers:
        gang = gang.moved(GangTrigger.STARTED)
    if worker == run.chief and observed.generation >= gang.generation:
        if observed.rendezvous != gang.rendezvous:
            gang = changed(gang, rendezvous=observed.rendezvous)
        if observed.is_live != gang.is_live:
            gang = changed(gang, is_live=observed.is_live)
    gang = gang_forming.followed(gang, worker, observed.generation, observed.prepared, observed.joined)
    if observed.hangs != (worker in gang.hung):
        gang = changed(gang, hung=gang.hung ^ {worker})
    return gang


def _must_notify(before: Gang, gang: Gang) -> bool:
    """Whether the members must learn something: the rendezvous, that they may meet, or that all hang."""
    return (
        gang.rendezvous != before.rendezvous
        or (gang.may_meet and not before.may_meet)
        or (gang.hangs and gang.hung != before.hung)
    )


def miss(draft: Draft, worker: Worker, run: Run, now: datetime) -> None:
    if run.is_ended:
        draft.release(worker.id, run)
        if worker.id not in run.gang.released:
            draft.put_run(run.released_by(worker.id), lazily=True)
    elif worker.id in run.gang.seen and worker.id not in run.gang.released:
        draft.release(worker.id, run)
        run_completion.lose_member(draft, run, worker.id, VANISHED, now)


def _hold_foreign(draft: Draft, worker: Worker, observed: Observed) -> None:
    draft.want((worker.id,))
    if observed.exit is not None:
        draft.release(worker.id, observed.allocation)
    elif observed.allocation not in worker.held:
        draft.hold(worker.id, observed.allocation, SlotHold(None, ()))


def _hold_zombie(draft: Draft, worker: Worker, run: Run) -> None:
    draft.want((worker.id,))
    if run.allocation not in worker.held:
        share = next(share for share in run.shares if share.worker == worker.id)
        draft.hold(worker.id, run.allocation, SlotHold(run.tenant, share.slot_ids, share.fraction))

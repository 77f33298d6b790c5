"""Live resize and re-forming of gangs: what a run holds meanwhile, what its members report, and when it is complete.

Until it is complete a run holds both its previous and its new slots (`shares`); `target` lists the future
members. Slots that it gives up are free once their workers report so. A lost member leaves immediately, and the
others form without it. A gang that broke without losing a member re-forms unchanged. `extra_slots` plans resizes;
`allocations` and `run_completion` apply the workers' reports.
"""

from datetime import datetime, timedelta

from services.scheduler.core.reducers import pause_measurements
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.grants import preempt
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.published_events import Resized
from services.scheduler.core.state.records.gang import NOBODY, Gang, GangShare
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.run_states import GangState, GangTrigger, RunState
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import Worker
from shared.ids import RunId, WorkerId
from shared.messages.trial_specs import DesiredState
from shared.tuples import changed

FORM_WITHIN = timedelta(seconds=90)
"""After this time the run is asked to save and end instead, because a new member does not start."""


def on_resized(cluster: Cluster, run: RunId, slots: int, placement: Placement, now: datetime) -> Changes:
    """Resize a trial to `slots` slots: live with `placement`, whose additional slots must be free, or without
    one by asking its run to end at a checkpoint."""
    draft = Draft(cluster)
    if placement:
        _begin(draft, cluster.runs[run], placement, now)
    else:
        preempt(draft, cluster.runs[run], PreemptionNotice("resize", slots=slots))
    return draft


def on_tick(cluster: Cluster, now: datetime) -> Changes:
    """Ask runs whose gang has not formed in time to save and end, like runs without live resizing."""
    draft = Draft(cluster)
    for run in [cluster.runs[run_id] for run_id in cluster.forming]:
        if run.gang.since is not None and now - run.gang.since >= FORM_WITHIN:
            slots = sum(share.slots for share in run.gang.target)
            preempt(draft, run, PreemptionNotice("resize", slots=slots))
    return draft


def can_do_without(run: Run, trial: Trial, worker: WorkerId) -> bool:
    """Whether the run can continue without this member: it can re-form, and keeps its chief and its minimum."""
    gang = run.gang
    if run.state is not RunState.ACTIVE or trial.request.desired_state is not DesiredState.RUN:
        return False
    if not gang.is_live or gang.state is GangState.STARTING or worker == run.chief:
        return False
    left = sum(share.slots for share in gang.members if share.worker != worker)
    return left >= max(1, trial.request.needs.min_slots)


def is_leaver(run: Run, worker: WorkerId) -> bool:
    """Whether the worker is not a member of the gang being formed."""
    return bool(run.gang.target) and all(share.worker != worker for share in run.gang.target)


def is_loss(exited: RunExit) -> bool:
    """Whether the ranks ended for reasons outside their code: a machine fault or a signal."""
    return exited.is_machine_fault or (exited.exit_code is not None and exited.exit_code < 0)


def do_without(draft: Draft, run: Run, worker: WorkerId, now: datetime) -> None:
    """Re-form the gang without a lost member."""
    gang = run.gang
    left = tuple(share for share in gang.shares if share.worker != worker)
    target = tuple(share for share in gang.members if share.worker != worker)
    _form(draft, run.with_gang(**_without(gang, frozenset({worker}))), left, target, now)


def leave(draft: Draft, run: Run, worker: WorkerId, now: datetime) -> None:
    """Release a member that is not part of the new gang and has ended its ranks."""
    run = run.released_by(worker)
    draft.put_run(run)
    draft.want((worker,))
    finish_if_formed(draft, run, now)


def followed(gang: Gang, worker: WorkerId, generation: int, prepared: int, joined: int) -> Gang:
    """Return the gang with a member's report about the gang being formed or the current one. Reports about an
    older generation are ignored."""
    if generation != gang.generation:
        return gang
    if gang.state is not GangState.FORMING:
        is_broken = joined < generation
        return gang if is_broken == (worker in gang.broken) else changed(gang, broken=gang.broken ^ {worker})
    if prepared >= gang.generation and worker not in gang.prepared:
        gang = changed(gang, prepared=gang.prepared | {worker})
    if joined >= gang.generation and worker not in gang.joined:
        gang = changed(gang, joined=gang.joined | {worker})
    return gang


def finish_if_formed(draft: Draft, run: Run, now: datetime) -> None:
    """Complete the forming once all members train and all leaving workers have released their slots."""
    gang = run.gang
    if not run.is_forming:
        return
    members = frozenset(share.worker for share in gang.target)
    leavers = gang.workers - members
    if not members <= gang.joined or not leavers <= gang.released:
        return
    run = pause_measurements.formed(draft, run.renewed(), now)
    gang = gang.moved(
        GangTrigger.FORMED, shares=gang.target, target=(), since=None, **_without(gang, leavers)
    )
    run = changed(run, gang=gang)
    _keep(draft, run, now)
    draft.emit(Resized(run, draft.trial(run.trial)))


def reform_if_broken(draft: Draft, run: Run, now: datetime) -> None:
    """Re-form a gang unchanged if all members wait because it broke and none is lost, as after a lost connection."""
    if run.is_ended or run.state is RunState.KILLING or run.gang.state is GangState.FORMING:
        return
    if run.gang.broken >= run.workers:
        _form(draft, run, run.shares, run.shares, now)


def _begin(draft: Draft, run: Run, placement: Placement, now: datetime) -> None:
    had = {share.worker: share for share in run.shares}
    wanted = dict(placement)
    order = [run.chief, *(worker for worker in wanted if worker != run.chief)]
    workers = draft.cluster.workers
    target = tuple(_share(workers[worker], wanted[worker], had.get(worker)) for worker in order)
    gets = {share.worker: share for share in target}
    both = [_larger(had.get(worker), gets.get(worker)) for worker in dict.fromkeys([*had, *gets])]
    _form(draft, run, tuple(both), target, now)


def _form(
    draft: Draft, run: Run, shares: tuple[GangShare, ...], target: tuple[GangShare, ...], now: datetime
) -> None:
    gang = run.gang.moved(
        GangTrigger.FORMS,
        shares=shares,
        target=target,
        since=now,
        generation=run.gang.generation + 1,
        rendezvous=None,
        prepared=NOBODY,
        joined=NOBODY,
        broken=NOBODY,
    )
    _keep(draft, run.renewed(gang=gang), now)


def _keep(draft: Draft, run: Run, now: datetime) -> None:
    draft.put_run(run)
    draft.begin(run, now)
    draft.want(run.workers)


def _without(gang: Gang, leavers: frozenset[WorkerId]) -> dict[str, frozenset[WorkerId]]:
    """Return the gang's fields without these members."""
    return {
        "seen": gang.seen - leavers,
        "released": gang.released - leavers,
        "former": gang.former | leavers,
    }


def _share(worker: Worker, slots: int, had: GangShare | None) -> GangShare:
    """Return a worker's new share. It keeps the previous slots first, so that continuing ranks keep theirs."""
    kept = had.slot_ids[:slots] if had else ()
    slot_ids = kept + worker.free_slot_ids[: slots - len(kept)]
    return GangShare(worker.id, slots, slot_ids, worker.address, private_network=worker.has_private_network)


def _larger(had: GangShare | None, gets: GangShare | None) -> GangShare:
    assert had or gets
    if had is None or gets is None:
        return had or gets  # type: ignore[return-value]
    return gets if gets.slots > had.slots else had

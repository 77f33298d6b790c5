"""A run gets other slots while its ranks live: what it holds meanwhile, who has said what, and when it is over.

From the beginning to the end of it a run holds both what it had and what it gets (`shares`); `target` are the members that it is to have.
Slots that it gives back are free when its workers say so. A member that is lost leaves at once, and the others form without it. A gang that
broke and has lost nobody forms anew as it was.
Neighbours: `lending` plans it, `allocations` and `run_ends` bring what workers say.
"""

from datetime import datetime, timedelta

from services.scheduler.core.reducers import pause_measurements
from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.reducers.grants import preempt
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.facts import Resized
from services.scheduler.core.state.indexes.placement.capacity import Placement
from services.scheduler.core.state.records.gang import NOBODY, Gang, GangShare
from services.scheduler.core.state.records.preemption_notice import PreemptionNotice
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.run_states import GangState, GangTrigger, RunState
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import Worker
from shared.ids import RunId, WorkerId
from shared.messages.specs import DesiredState
from shared.tuples import changed

FORM_WITHIN = timedelta(seconds=90)
"""After so long the run is asked to save and go instead: what is to join does not start."""


def on_resized(cluster: Cluster, run: RunId, slots: int, placement: Placement, now: datetime) -> Changes:
    """A trial is to go on with so many slots: while its run trains, with those of `placement`, of which what it does not hold yet must be
    free; without one its run is asked to end at a checkpoint."""
    draft = Draft(cluster)
    if placement:
        _begin(draft, cluster.runs[run], placement, now)
    else:
        preempt(draft, cluster.runs[run], PreemptionNotice("resize", slots=slots))
    return draft


def on_tick(cluster: Cluster, now: datetime) -> Changes:
    """Runs that do not get there save and go, as those do that cannot be resized while they train."""
    draft = Draft(cluster)
    for run in [cluster.runs[run_id] for run_id in cluster.forming]:
        if run.gang.since is not None and now - run.gang.since >= FORM_WITHIN:
            slots = sum(share.slots for share in run.gang.target)
            preempt(draft, run, PreemptionNotice("resize", slots=slots))
    return draft


def can_do_without(run: Run, trial: Trial, worker: WorkerId) -> bool:
    """Whether the run goes on when this member is lost: it can form anew, and keeps its chief and its minimum."""
    gang = run.gang
    if run.state is not RunState.ACTIVE or trial.wish.wanted is not DesiredState.RUN:
        return False
    if not gang.is_live or gang.state is GangState.STARTING or worker == run.chief:
        return False
    left = sum(share.slots for share in gang.members if share.worker != worker)
    return left >= max(1, trial.wish.needs.min_slots)


def is_leaver(run: Run, worker: WorkerId) -> bool:
    """Whether it has no part in the gang that is formed."""
    return bool(run.gang.target) and all(share.worker != worker for share in run.gang.target)


def is_loss(exited: RunExit) -> bool:
    """Whether ranks have ended for what is not their code's doing: the machine's fault, or a signal."""
    return exited.is_machine_fault or (exited.exit_code is not None and exited.exit_code < 0)


def do_without(draft: Draft, run: Run, worker: WorkerId, now: datetime) -> None:
    """A member is gone: what is left of the run forms anew."""
    gang = run.gang
    left = tuple(share for share in gang.shares if share.worker != worker)
    target = tuple(share for share in gang.members if share.worker != worker)
    _form(draft, run.with_gang(**_without(gang, frozenset({worker}))), left, target, now)


def leave(draft: Draft, run: Run, worker: WorkerId, now: datetime) -> None:
    """A member that has no part in what is formed has ended its ranks."""
    run = run.released_by(worker)
    draft.put_run(run)
    draft.want((worker,))
    finish_if_formed(draft, run, now)


def followed(gang: Gang, worker: WorkerId, generation: int, prepared: int, joined: int) -> Gang:
    """The gang with what a member says of the one that is formed, or of the one there is: whether its ranks train in it. One that still
    speaks of an older generation has not heard yet."""
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
    """The last that was waited for may have happened: all members train, and who has no part any more has let go."""
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
    draft.tell(Resized(run, draft.trial(run.trial)))


def reform_if_broken(draft: Draft, run: Run, now: datetime) -> None:
    """A gang of which all members wait since it broke, while nobody is lost, forms anew as it was: a connection was lost."""
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
    """What changes of a gang when these have no part in it any more."""
    return {
        "seen": gang.seen - leavers,
        "released": gang.released - leavers,
        "former": gang.former | leavers,
    }


def _share(worker: Worker, slots: int, had: GangShare | None) -> GangShare:
    """Of what it had first: ranks that stay keep their slots."""
    kept = had.slot_ids[:slots] if had else ()
    return GangShare(worker.id, slots, kept + worker.free_slot_ids[: slots - len(kept)], worker.address)


def _larger(had: GangShare | None, gets: GangShare | None) -> GangShare:
    assert had or gets
    if had is None or gets is None:
        return had or gets  # type: ignore[return-value]
    return gets if gets.slots > had.slots else had

"""A run gets other slots while its ranks live: what it holds meanwhile, who has said what, and when it is over.

From the beginning to the end of it a run holds both what it had and what it gets (`shares`); `target` are the members that it is to have.
Slots that it gives back are free when its workers say so. A member that is lost leaves at once, and the others form without it. A gang that
broke and has lost nobody forms anew as it was.
Neighbours: `lending` plans it, `heard` and `ends` bring what workers say.
"""

from datetime import datetime, timedelta

from services.scheduler.core.asked import Asked
from services.scheduler.core.cluster import Cluster, renewed
from services.scheduler.core.events import stops
from services.scheduler.core.events.grants import on_preempted
from services.scheduler.core.facts import Resized
from services.scheduler.core.placement.capacity import Placement
from services.scheduler.core.run import Exit, Run, Share
from services.scheduler.core.run_states import RunState
from services.scheduler.core.trial import Trial
from services.scheduler.core.worker import Worker
from shared.ids import RunId, WorkerId
from shared.messages.specs import Wanted
from shared.tuples import changed

FORM_WITHIN = timedelta(seconds=90)
"""After so long the run is asked to save and go instead: what is to join does not start."""


def begin(cluster: Cluster, run_id: RunId, placement: Placement, now: datetime) -> None:
    """A run is to go on with these slots. What it does not hold yet of them must be free."""
    run = cluster.runs[run_id]
    had = {share.worker: share for share in run.shares}
    wanted = dict(placement)
    order = [run.chief, *(worker for worker in wanted if worker != run.chief)]
    target = tuple(_share(cluster.workers[worker], wanted[worker], had.get(worker)) for worker in order)
    gets = {share.worker: share for share in target}
    both = [_larger(had.get(worker), gets.get(worker)) for worker in dict.fromkeys([*had, *gets])]
    _form(cluster, run, tuple(both), target, now)


def can_do_without(run: Run, trial: Trial, worker: WorkerId) -> bool:
    """Whether the run goes on when this member is lost: it can form anew, and keeps its chief and its minimum."""
    if (
        not run.is_live
        or run.is_ended
        or run.exits
        or worker == run.chief
        or trial.wish.wanted is not Wanted.RUN
    ):
        return False
    left = sum(share.slots for share in run.members if share.worker != worker)
    return run.state is RunState.RUNNING and not run.preempted and left >= max(1, trial.wish.needs.min_slots)


def is_loss(exited: Exit) -> bool:
    """Whether ranks have ended for what is not their code's doing: the machine's fault, or a signal."""
    return exited.is_machine_fault or (exited.exit_code is not None and exited.exit_code < 0)


def do_without(cluster: Cluster, run: Run, worker: WorkerId, now: datetime) -> None:
    """A member is gone: what is left of the run forms anew."""
    left = tuple(share for share in run.shares if share.worker != worker)
    target = tuple(share for share in run.members if share.worker != worker)
    cluster.leave(run, worker)
    run = changed(
        run, seen=run.seen - {worker}, released=run.released - {worker}, former=run.former | {worker}
    )
    _form(cluster, run, left, target, now)


def on_left(cluster: Cluster, run: Run, worker: WorkerId, now: datetime) -> None:
    """A member that has no part in what is formed has ended its ranks."""
    run = changed(run, released=run.released | {worker})
    cluster.put_run(run)
    cluster.want((worker,))
    settle(cluster, run.id, now)


def followed(run: Run, worker: WorkerId, generation: int, prepared: int, joined: int) -> Run:
    """The run with what a member says of the gang that is formed, or of the one there is: whether its ranks train in it. One that still
    speaks of an older generation has not heard yet."""
    if generation != run.generation:
        return run
    if not run.target:
        is_broken = joined < generation
        return run if is_broken == (worker in run.broken) else changed(run, broken=run.broken ^ {worker})
    if prepared >= run.generation and worker not in run.prepared:
        run = changed(run, prepared=run.prepared | {worker})
    if joined >= run.generation and worker not in run.joined:
        run = changed(run, joined=run.joined | {worker})
    return run


def may_go(run: Run) -> bool:
    """Whether the ranks may meet: all members are prepared for it."""
    return not run.target or all(share.worker in run.prepared for share in run.target)


def settle(cluster: Cluster, run_id: RunId, now: datetime) -> None:
    """The last that was waited for may have happened: all members train, and who has no part any more has let go."""
    run = cluster.runs[run_id]
    members = {share.worker for share in run.target}
    if (
        not run.target
        or run.is_ended
        or not members <= run.joined
        or not run.workers - members <= run.released
    ):
        return
    leavers = run.workers - members
    for worker in leavers:
        cluster.leave(run, worker)
    settled = renewed(
        stops.formed(cluster, run, now),
        shares=run.target,
        target=(),
        released=run.released - leavers,
        seen=run.seen - leavers,
        former=run.former | leavers,
        resized_at=None,
    )
    _keep(cluster, settled, now)
    cluster.tell(Resized(settled, cluster.trials[settled.trial]))


def mend(cluster: Cluster, run_id: RunId, now: datetime) -> None:
    """A gang of which all members wait since it broke, while nobody is lost, forms anew as it was: a connection was lost."""
    run = cluster.runs[run_id]
    if run.broken >= run.workers and not (run.target or run.is_ended or run.kill_rest):
        _form(cluster, run, run.shares, run.shares, now)


def on_tick(cluster: Cluster, now: datetime) -> None:
    """Runs that do not get there save and go, as those do that cannot be resized while they train."""
    for run_id in list(cluster.forming):
        run = cluster.runs[run_id]
        if run.resized_at is not None and now - run.resized_at >= FORM_WITHIN:
            on_preempted(cluster, run_id, Asked("resize", slots=sum(share.slots for share in run.target)))


def _form(
    cluster: Cluster, run: Run, shares: tuple[Share, ...], target: tuple[Share, ...], now: datetime
) -> None:
    none: frozenset[WorkerId] = frozenset()
    run = renewed(
        run,
        shares=shares,
        target=target,
        generation=run.generation + 1,
        rendezvous=None,
        prepared=none,
        joined=none,
        broken=none,
        resized_at=now,
    )
    _keep(cluster, run, now)


def _keep(cluster: Cluster, run: Run, now: datetime) -> None:
    cluster.put_run(run)
    cluster.hold(run)
    cluster.ledger.begin(run, now, cluster.pools[run.pool].policy.price_per_slot_hour)
    cluster.want(run.workers)


def _share(worker: Worker, slots: int, had: Share | None) -> Share:
    """Of what it had first: ranks that stay keep their slots."""
    kept = had.slot_ids[:slots] if had else ()
    return Share(worker.id, slots, kept + worker.free_slot_ids[: slots - len(kept)], worker.address)


def _larger(had: Share | None, gets: Share | None) -> Share:
    assert had or gets
    if had is None or gets is None:
        return had or gets  # type: ignore[return-value]
    return gets if gets.slots > had.slots else had

"""A run gets other members while its ranks live: who is started, who is told to leave, and when all form anew. Pure.

1. The desired set names other members under a higher generation, without a rendezvous. The chief opens one; ranks that are new are
   started and stand by; all others train on.
2. When every member has what it needs (`prepared` in the observed set), the desired set carries the rendezvous: that is the word to go.
3. Each rank is told to join, or to leave. The formation is over when all have.
"""

from dataclasses import replace

from shared.ids import WorkerId
from shared.messages.specs import Signal
from worker.core.gang.assignment import Formation, FormationStep
from worker.core.gang.members import assign_ranks
from worker.core.naming import process_name
from worker.core.run.actions import SendAssignments, StartStandbyRanks
from worker.core.run.desired import Desired
from worker.core.run.records import LocalRun
from worker.core.run.reducers import move
from worker.core.run.states import TRAINING, RunState, Trigger


def is_new_formation(run: LocalRun, desired: Desired) -> bool:
    """Whether the desired state names members that this run has not heard of."""
    return desired.generation > run.gang.generation and not run.is_over


def on_formation(run: LocalRun, desired: Desired, worker: WorkerId) -> LocalRun:
    """Take over the members of a higher generation; a formation that was not over is given up for it."""
    is_member = any(member.worker == worker for member in desired.members)
    # Only ranks that meet by Horovod take seats: of no other run does a worker say that it can be resized.
    assignment = assign_ranks(desired.members, worker, "horovod") if is_member else None
    formation = Formation(desired.generation, assignment, stands_by=run.gang.stands_by)
    gang = replace(
        run.gang,
        generation=desired.generation,
        formation=formation,
        rendezvous=None,
        rendezvous_asked=False,
    )
    return move(replace(run, gang=gang), Trigger.RESIZE_ORDERED)


def on_generation_confirmed(run: LocalRun, local: int, generation: int) -> LocalRun:
    """A rank says in which generation it trains; the last one ends the formation."""
    if local >= run.local_ranks:
        return run
    confirmed = {**dict(run.ranks.confirmed), local: generation}
    return _settled(replace(run, ranks=replace(run.ranks, confirmed=tuple(sorted(confirmed.items())))))


def on_left(run: LocalRun, name: str) -> LocalRun:
    """A process that was told to leave has ended; where all had to, so has the run here."""
    left = replace(run, ranks=replace(run.ranks, leaving=run.ranks.leaving - {name}))
    if left.ranks.births or left.ranks.leaving or left.is_over:
        return _settled(left)
    return _end_well(left, Trigger.ALL_ENDED)


def plan_resize(run: LocalRun) -> tuple[LocalRun, tuple[StartStandbyRanks | SendAssignments, ...]]:
    """What is to be done about the formation now; asking again gives nothing more until something has happened."""
    formation = run.gang.formation
    if formation is None:
        return run, ()
    if run.state in (RunState.PREPARING, RunState.RENDEZVOUS):
        return (_end_well(run, Trigger.CANCELLED) if formation.assignment is None else run), ()
    if run.state not in TRAINING:
        return run, ()
    if _is_standby_cancelled(run):
        return _mark_notified(run, formation, staying=0), (SendAssignments(),)
    actions: list[StartStandbyRanks | SendAssignments] = []
    births = run.ranks.births
    if (
        formation.assignment is not None
        and not run.ranks.leaving
        and len(births) < formation.assignment.ranks
    ):
        actions.append(StartStandbyRanks(len(births)))
        fresh = range(len(births), formation.assignment.ranks)
        born = tuple((formation.generation, formation.assignment.first_rank + local) for local in fresh)
        run = replace(run, ranks=replace(run.ranks, births=(*births, *born)))
    if formation.step is FormationStep.PREPARED:
        actions.append(SendAssignments())
        run = _mark_notified(
            run, formation, staying=formation.assignment.ranks if formation.assignment else 0
        )
    return run, tuple(actions)


def can_resize(run: LocalRun) -> bool:
    """Whether its script can be resized while it trains: every rank here has taken its seat."""
    return 0 < len(run.ranks.births) <= len(run.ranks.confirmed)


def prepared(run: LocalRun) -> int:
    """The generation for which this worker has what it needs: its ranks that are new stand by."""
    formation = run.gang.formation
    if formation is None or formation.assignment is None:
        return run.gang.generation
    is_ready = len(run.ranks.births) >= formation.assignment.ranks and can_resize(run)
    return formation.generation if is_ready else formation.generation - 1


def joined(run: LocalRun) -> int:
    """The generation in which every rank here trains; an earlier one where a gang that broke has left one waiting."""
    stands_by = any(at == 0 for _, at in run.ranks.confirmed)
    has_joined = run.gang.formation is None and not stands_by
    return run.gang.generation if has_joined else run.gang.generation - 1


def _is_standby_cancelled(run: LocalRun) -> bool:
    """It is asked to end before a rank here has joined: they have nothing to save."""
    return run.gang.stands_by and run.asked is not Signal.RUN and bool(run.ranks.births)


def _mark_notified(run: LocalRun, formation: Formation, staying: int) -> LocalRun:
    births = run.ranks.births
    leavers = range(staying, len(births))
    leaving = {process_name(run.run_id, births[local][0], local) for local in leavers}
    ranks = replace(
        run.ranks,
        births=births[:staying],
        confirmed=tuple((local, at) for local, at in run.ranks.confirmed if local < staying),
        leaving=run.ranks.leaving | leaving,
    )
    notified = replace(formation, step=FormationStep.NOTIFIED)
    return replace(run, ranks=ranks, gang=replace(run.gang, formation=notified))


def _settled(run: LocalRun) -> LocalRun:
    """The run with the formation as its gang, once every rank here has joined it and nobody has still to leave."""
    formation = run.gang.formation
    if formation is None or formation.assignment is None or formation.step is not FormationStep.NOTIFIED:
        return run
    confirmed = dict(run.ranks.confirmed)
    has_joined = all(
        confirmed.get(local) == formation.generation for local in range(formation.assignment.ranks)
    )
    if run.ranks.leaving or not has_joined:
        return run
    gang = replace(run.gang, assignment=formation.assignment, formation=None)
    return move(replace(run, gang=gang), Trigger.RESIZED)


def _end_well(run: LocalRun, trigger: Trigger) -> LocalRun:
    """This worker has no part in the gang any more."""
    return replace(move(run, trigger), ending=replace(run.ending, exit_code=0))

"""Resizes a gang while its ranks run: which ranks start, which leave, and when the gang re-forms. Pure.

1. The desired set lists other members under a higher generation, without a rendezvous. The chief opens one; new ranks
   start on standby; all others continue to train.
2. When every member is ready (`prepared` in the observed set), the desired set carries the rendezvous: the start signal.
3. Each rank is asked to join or to leave. The formation is complete when all have done so.
"""

from dataclasses import replace

from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from worker.core.gang.assignment import Formation, FormationStep
from worker.core.gang.members import assign_ranks
from worker.core.process_names import process_name
from worker.core.run.actions import SendAssignments, StartStandbyRanks
from worker.core.run.desired import Desired
from worker.core.run.records import LocalRun
from worker.core.run.reducers import move
from worker.core.run.states import TRAINING, RunState, Trigger


def is_new_formation(run: LocalRun, desired: Desired) -> bool:
    """Whether the desired state has a newer generation than this run."""
    return desired.generation > run.gang.generation and not run.is_over


def on_formation(run: LocalRun, desired: Desired, worker: WorkerId) -> LocalRun:
    """Apply the members of a higher generation; a formation in progress is abandoned for it."""
    is_member = any(member.worker == worker for member in desired.members)
    # Only Horovod gangs can be resized: no worker reports any other run as resizable.
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
    """Record the generation that a rank confirmed; the last confirmation completes the formation."""
    if local >= run.local_ranks:
        return run
    confirmed = {**dict(run.ranks.confirmed), local: generation}
    return _settled(replace(run, ranks=replace(run.ranks, confirmed=tuple(sorted(confirmed.items())))))


def on_left(run: LocalRun, name: str) -> LocalRun:
    """Record the exit of a process that was asked to leave; if all ranks leave, the run ends here."""
    left = replace(run, ranks=replace(run.ranks, leaving=run.ranks.leaving - {name}))
    if left.ranks.births or left.ranks.leaving or left.is_over:
        return _settled(left)
    return _end_well(left, Trigger.ALL_ENDED)


def plan_resize(run: LocalRun) -> tuple[LocalRun, tuple[StartStandbyRanks | SendAssignments, ...]]:
    """Return the next actions of the formation; repeated calls return nothing new until an event."""
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
    """Whether the run can be resized: every local rank has confirmed a generation."""
    return 0 < len(run.ranks.births) <= len(run.ranks.confirmed)


def prepared(run: LocalRun) -> int:
    """Return the generation that this worker is ready for: its new ranks are on standby."""
    formation = run.gang.formation
    if formation is None or formation.assignment is None:
        return run.gang.generation
    is_ready = len(run.ranks.births) >= formation.assignment.ranks and can_resize(run)
    return formation.generation if is_ready else formation.generation - 1


def joined(run: LocalRun) -> int:
    """Return the generation that all local ranks train in; an earlier one while a rank waits after its gang failed."""
    stands_by = any(at == 0 for _, at in run.ranks.confirmed)
    has_joined = run.gang.formation is None and not stands_by
    return run.gang.generation if has_joined else run.gang.generation - 1


def _is_standby_cancelled(run: LocalRun) -> bool:
    """Whether a standby run is asked to end before a local rank has joined: there is nothing to save."""
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
    """Complete the formation once every local rank has joined and nobody still has to leave."""
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
    """End the run with exit code 0: this worker has left the gang."""
    return replace(move(run, trigger), ending=replace(run.ending, exit_code=0))

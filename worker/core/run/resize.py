"""A run gets other members while its ranks live: who is started, who is told to leave, and when all form anew. Pure.

1. The desired set names other members under a higher generation, without a rendezvous. The chief opens one; ranks that are new are
   started and stand by; all others train on.
2. When every member has what it needs (`prepared` in the observed set), the desired set carries the rendezvous: that is the word to go.
3. Each rank is told to join, or to leave. The formation is over when all have.
"""

from dataclasses import dataclass, replace

from shared.ids import WorkerId
from shared.messages.allocations import DesiredAllocation
from shared.messages.specs import Signal
from worker.core.gang.members import take_seat
from worker.core.gang.seats import Formation
from worker.core.naming import process_name
from worker.core.run.reducers import LocalRun
from worker.core.run.states import MACHINE, RunState, Trigger


@dataclass(frozen=True, slots=True)
class StartStandBys:
    """Start the local ranks from `first` on; they stand by."""

    first: int


@dataclass(frozen=True, slots=True)
class TellSeats:
    """Tell every local rank to join the formation, or to leave."""


def is_new_formation(run: LocalRun, allocation: DesiredAllocation) -> bool:
    """Whether the allocation names members that this run has not heard of."""
    return allocation.generation > run.generation and not run.is_over


def on_formation(run: LocalRun, allocation: DesiredAllocation, worker: WorkerId) -> LocalRun:
    """Take over the members of a higher generation; a formation that was not over is given up for it."""
    is_member = any(member.worker == worker for member in allocation.members)
    # Only ranks that meet by Horovod take seats: of no other run does a worker say that it can be resized.
    seat = take_seat(allocation.members, worker, "horovod") if is_member else None
    formation = Formation(allocation.generation, seat)
    return replace(
        run, generation=formation.generation, formation=formation, rendezvous=None, rendezvous_asked=False
    )


def on_seated(run: LocalRun, local: int, generation: int) -> LocalRun:
    """A rank says in which generation it trains; the last one ends the formation."""
    if local >= run.ranks:
        return run
    seated = {**dict(run.seated), local: generation}
    return _settled(replace(run, seated=tuple(sorted(seated.items()))))


def on_left(run: LocalRun, name: str) -> LocalRun:
    """A process that was told to leave has ended; where all had to, so has the run here."""
    left = replace(run, leaving=run.leaving - {name})
    if left.births or left.leaving or left.is_over:
        return _settled(left)
    return replace(left, state=MACHINE.next(left.state, Trigger.ALL_ENDED), exit_code=0)


def plan_resize(run: LocalRun) -> tuple[LocalRun, tuple[StartStandBys | TellSeats, ...]]:
    """What is to be done about the formation now; asking again gives nothing more until something has happened."""
    formation = run.formation
    if formation is None:
        return run, ()
    if not run.ranks_asked:
        return (_end_before_start(run) if formation.seat is None else run), ()
    if run.state is not RunState.RUNNING:
        return run, ()
    if _stands_by_in_vain(run):
        return _told(run, formation, staying=0), (TellSeats(),)
    actions: list[StartStandBys | TellSeats] = []
    if formation.seat is not None and not run.leaving and len(run.births) < formation.seat.ranks:
        actions.append(StartStandBys(len(run.births)))
        fresh = range(len(run.births), formation.seat.ranks)
        births = tuple((formation.generation, formation.seat.first_rank + local) for local in fresh)
        run = replace(run, births=(*run.births, *births))
    if formation.may_go and not formation.is_told:
        actions.append(TellSeats())
        run = _told(run, formation, staying=formation.seat.ranks if formation.seat else 0)
    return run, tuple(actions)


def can_resize(run: LocalRun) -> bool:
    """Whether its script can be resized while it trains: every rank here has taken its seat."""
    return 0 < len(run.births) <= len(run.seated)


def prepared(run: LocalRun) -> int:
    """The generation for which this worker has what it needs: its ranks that are new stand by."""
    formation = run.formation
    if formation is None or formation.seat is None:
        return run.generation
    is_ready = len(run.births) >= formation.seat.ranks and can_resize(run)
    return formation.generation if is_ready else formation.generation - 1


def joined(run: LocalRun) -> int:
    """The generation in which every rank here trains; an earlier one where a gang that broke has left one waiting."""
    stands_by = any(at == 0 for _, at in run.seated)
    return run.generation if run.formation is None and not stands_by else run.generation - 1


def _stands_by_in_vain(run: LocalRun) -> bool:
    """It is asked to end before a rank here has joined: they have nothing to save."""
    return run.stands_by and run.asked is not Signal.RUN and bool(run.births)


def _told(run: LocalRun, formation: Formation, staying: int) -> LocalRun:
    gone = range(staying, len(run.births))
    leaving = {process_name(run.run_id, run.births[local][0], local) for local in gone}
    return replace(
        run,
        formation=replace(formation, is_told=True),
        births=run.births[:staying],
        seated=tuple((local, at) for local, at in run.seated if local < staying),
        leaving=run.leaving | leaving,
    )


def _settled(run: LocalRun) -> LocalRun:
    formation = run.formation
    if formation is None or formation.seat is None or not formation.is_told or run.leaving:
        return run
    seated = dict(run.seated)
    if any(seated.get(local) != formation.generation for local in range(formation.seat.ranks)):
        return run
    return replace(run, seat=formation.seat, formation=None, stands_by=False)


def _end_before_start(run: LocalRun) -> LocalRun:
    state = MACHINE.next(run.state, Trigger.END_ORDERED)
    if state is not RunState.EXITED:
        state = MACHINE.next(state, Trigger.ALL_ENDED)
    return replace(run, state=state, exit_code=0)

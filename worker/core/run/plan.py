"""What has to be done about an allocation now, from its state alone: asking again gives the same answer until it was done. Pure."""

from dataclasses import dataclass, replace

from shared.messages.specs import Signal
from worker.core.run.reducers import LocalRun
from worker.core.run.resize import StartStandBys, TellSeats, plan_resize
from worker.core.run.states import MACHINE, RunState, Trigger

GANG_GRACE_S = 5.0
"""How long the rest of a gang may live after a rank failed: time for its own traceback, no more."""
LINGER_S = 60.0
"""How long ranks may outlive a rank that ended well."""


@dataclass(frozen=True, slots=True)
class OpenRendezvous:
    """Hold the gang's rendezvous."""


@dataclass(frozen=True, slots=True)
class StartRanks:
    """Fork this worker's ranks."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell the ranks what is asked of them, and when the next decision is."""

    signal: Signal


@dataclass(frozen=True, slots=True)
class KillRanks:
    """End every process of the run at once."""


@dataclass(frozen=True, slots=True)
class Forget:
    """It has ended and nobody asks for it any more."""


Action = OpenRendezvous | StartRanks | StartStandBys | TellSeats | Tell | KillRanks | Forget


def plan(run: LocalRun, now: float) -> tuple[LocalRun, tuple[Action, ...]]:
    """Return the run with what is being done marked as such, and the actions in order."""
    if run.is_over:
        return run, (Forget(),) if run.dropped else ()
    if not run.dropped and not run.kill_sent:
        resized, actions = plan_resize(run)
        if actions or resized != run:
            return resized, actions
    if run.state is RunState.FETCHING:
        return _plan_unstarted(run), ()
    if _must_end_now(run, now):
        return _plan_kill(run, now)
    if run.state is RunState.STARTING:
        return _plan_start(run)
    if run.formation and run.next_seat.is_chief and not run.rendezvous_asked:
        return replace(run, rendezvous_asked=True), (OpenRendezvous(),)
    if run.told is not run.asked:
        first_asked_at = run.asked_at if run.asked_at is not None else now
        asked_at = None if run.asked is Signal.RUN else first_asked_at
        return replace(run, told=run.asked, asked_at=asked_at), (Tell(run.asked),)
    return run, ()


def next_look(run: LocalRun) -> float | None:
    """When time alone may change the plan (monotonic seconds); None = only events do."""
    if run.is_over or run.kill_sent:
        return None
    times = []
    if run.asked_at is not None and run.asked is not Signal.RUN:
        times.append(run.asked_at + run.preemption_timeout_s)
    if run.kill_at is not None:
        times.append(run.kill_at)
    if run.last_exit_at is not None:
        times.append(run.last_exit_at + (GANG_GRACE_S if _has_failed(run) else LINGER_S))
    return min(times, default=None)


def _plan_unstarted(run: LocalRun) -> LocalRun:
    """Nothing runs yet: whatever ends it is acknowledged by not starting."""
    if not run.dropped and run.asked is Signal.RUN:
        return run
    return _end_unstarted(replace(run, state=MACHINE.next(run.state, Trigger.END_ORDERED)))


def _end_unstarted(run: LocalRun) -> LocalRun:
    acknowledged = None if run.asked in (Signal.RUN, Signal.KILL) else run.asked
    exit_code = None if run.doomed else 0
    forced = acknowledged is None and not run.doomed
    return replace(run, acknowledged=acknowledged, exit_code=exit_code, told=run.asked, forced=forced)


def _plan_start(run: LocalRun) -> tuple[LocalRun, tuple[Action, ...]]:
    gang = run.seat.is_gang
    if gang and run.seat.is_chief and not run.rendezvous_asked:
        return replace(run, rendezvous_asked=True), (OpenRendezvous(),)
    if run.ranks_asked or (gang and run.rendezvous is None and not run.stands_by):
        return run, ()
    births = tuple((run.generation, run.seat.first_rank + local) for local in range(run.seat.ranks))
    return replace(run, ranks_asked=True, births=births), (StartRanks(),)


def _plan_kill(run: LocalRun, now: float) -> tuple[LocalRun, tuple[Action, ...]]:
    if run.kill_sent:
        return run, ()
    stopping = replace(run, state=MACHINE.next(run.state, Trigger.END_ORDERED), kill_sent=True)
    if not run.ranks_asked:
        ended = _end_unstarted(replace(stopping, state=MACHINE.next(stopping.state, Trigger.ALL_ENDED)))
        return ended, (KillRanks(),)
    if _is_forced(run, now):
        return replace(stopping, forced=True, told=run.asked), (KillRanks(),)
    return replace(stopping, counted=len(run.exits)), (KillRanks(),)


def _is_forced(run: LocalRun, now: float) -> bool:
    return run.dropped or run.asked is Signal.KILL or _is_out_of_time(run, now)


def _is_out_of_time(run: LocalRun, now: float) -> bool:
    return (
        run.asked_at is not None
        and run.asked is not Signal.RUN
        and now >= run.asked_at + run.preemption_timeout_s
    )


def _must_end_now(run: LocalRun, now: float) -> bool:
    if run.kill_sent or run.dropped or run.asked is Signal.KILL:
        return True
    if run.doomed and run.kill_at is None:
        return True
    if run.state is RunState.STARTING and not run.ranks_asked and run.asked is not Signal.RUN:
        return True
    look = next_look(run)
    return look is not None and now >= look


def _has_failed(run: LocalRun) -> bool:
    return any(code != 0 for _, code in run.exits)

"""Plans the next actions for an allocation from its state alone; repeatable until the actions are done. Pure."""

from dataclasses import dataclass, replace

from shared.messages.trial_specs import Signal
from worker.core.run.actions import (
    Action,
    CloseRendezvous,
    Conclude,
    Decide,
    Forget,
    KillRanks,
    OpenRendezvous,
    SendSignal,
    StartRanks,
)
from worker.core.run.records import LocalRun, Notice
from worker.core.run.reducers import cancel, move
from worker.core.run.resize import plan_resize
from worker.core.run.states import TRAINING, RunState, Trigger

GANG_GRACE_S = 5.0
"""How long the other ranks of a gang may live after one failed, to print their tracebacks."""
LINGER_S = 60.0
"""How long ranks may outlive a rank that exited with code 0."""


Planned = tuple[LocalRun, tuple[Action, ...]]


@dataclass(frozen=True, slots=True)
class Step:
    """The consequences of an event: execute `first`, persist `run`, execute `after`. A daemon that dies in between repeats both."""

    run: LocalRun
    first: tuple[Action, ...]
    after: tuple[Action, ...]


def plan_step(before: LocalRun, run: LocalRun, now: float) -> Step:
    """Return the consequences of an event that changed `before` into `run`."""
    after, planned = plan(run, now)
    actions = planned
    while planned and after.gang.formation is not None and not after.is_over:
        after, planned = plan(after, now)  # one action may enable another
        actions += planned
    first: list[Action] = []
    if after.request.decide_at != before.request.decide_at:
        first.append(Decide(after.asked, after.request.decide_at))
    if after.is_over and not before.is_over:
        first.append(Conclude())
    if before.gang.formation is not None and after.gang.formation is None:
        actions += (CloseRendezvous(),)
    return Step(after, tuple(first), actions)


def plan(run: LocalRun, now: float) -> Planned:
    """Return the run with the planned actions marked as started, and the actions in order."""
    if run.is_over:
        return run, (Forget(),) if run.request.dropped else ()
    if run.state is RunState.KILLING:
        return run, ()
    if not run.request.dropped:
        resized, actions = plan_resize(run)
        if actions or resized != run:
            return resized, actions
    if run.state is RunState.PREPARING:
        return (cancel(run) if _must_not_start(run) else run), ()
    if run.state is RunState.RENDEZVOUS and (_must_not_start(run) or _must_be_killed(run, now)):
        return cancel(run), (KillRanks(),)
    if _must_be_killed(run, now):
        return _kill(run, now), (KillRanks(),)
    if run.state in TRAINING:
        return _plan_training(run, now)
    return _plan_start(run)


def next_check(run: LocalRun) -> float | None:
    """Return when time alone may change the plan (monotonic seconds); None: only events do."""
    if run.is_over or run.state is RunState.KILLING:
        return None
    times = []
    if run.notice.at is not None and run.asked is not Signal.RUN:
        times.append(run.notice.at + run.request.preemption_timeout_s)
    if run.ending.kill_at is not None:
        times.append(run.ending.kill_at)
    if run.exits.last_at is not None:
        times.append(run.exits.last_at + (GANG_GRACE_S if run.exits.have_failed else LINGER_S))
    return min(times, default=None)


def _must_not_start(run: LocalRun) -> bool:
    """Whether a run without processes is asked to end."""
    return run.request.dropped or run.asked is not Signal.RUN


def _must_be_killed(run: LocalRun, now: float) -> bool:
    if run.request.dropped or run.asked is Signal.KILL:
        return True
    if run.has_fault and run.ending.kill_at is None:
        return True
    look = next_check(run)
    return look is not None and now >= look


def _kill(run: LocalRun, now: float) -> LocalRun:
    """Kill a run. No exit counts for ranks that ignored the request to end; for the rest of a failed gang, the exits so far count."""
    killing = move(run, Trigger.KILLED)
    is_forced = run.request.dropped or run.asked is Signal.KILL or _is_out_of_time(run, now)
    if not is_forced:
        return replace(killing, ending=replace(run.ending, counted=len(run.exits.codes)))
    notice = replace(run.notice, signal=run.asked)
    return replace(killing, notice=notice, ending=replace(run.ending, forced=True))


def _is_out_of_time(run: LocalRun, now: float) -> bool:
    return (
        run.notice.at is not None
        and run.asked is not Signal.RUN
        and now >= run.notice.at + run.request.preemption_timeout_s
    )


def _plan_start(run: LocalRun) -> Planned:
    gang = run.gang
    if gang.assignment.is_gang and gang.assignment.is_chief and not gang.rendezvous_asked:
        return _with_rendezvous_asked(run), (OpenRendezvous(),)
    waits = gang.assignment.is_gang and gang.rendezvous is None and not gang.stands_by
    if run.state is RunState.STARTING or waits:
        return run, ()
    first = gang.assignment.first_rank
    births = tuple((gang.generation, first + local) for local in range(gang.assignment.ranks))
    return move(replace(run, ranks=replace(run.ranks, births=births)), Trigger.LAUNCHED), (StartRanks(),)


def _plan_training(run: LocalRun, now: float) -> Planned:
    gang = run.gang
    if gang.formation is not None and gang.next_assignment.is_chief and not gang.rendezvous_asked:
        return _with_rendezvous_asked(run), (OpenRendezvous(),)
    if run.notice.signal is run.asked:
        return run, ()
    first_at = run.notice.at if run.notice.at is not None else now
    at = None if run.asked is Signal.RUN else first_at
    return replace(run, notice=Notice(run.asked, at, run.notice.acknowledged)), (SendSignal(run.asked),)


def _with_rendezvous_asked(run: LocalRun) -> LocalRun:
    return replace(run, gang=replace(run.gang, rendezvous_asked=True))

"""A run on this machine: what is done about it, in every order in which things can happen."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from muster.wire import EXIT_INVALID
from shared.ids import AllocationId, RunId
from shared.messages.specs import Signal
from worker.core.gang.seats import Seat
from worker.core.hang import TERM_GRACE_S
from worker.core.run import reducers as core
from worker.core.run.plan import (
    GANG_GRACE_S,
    LINGER_S,
    Action,
    Forget,
    KillRanks,
    OpenRendezvous,
    StartRanks,
    Tell,
    next_look,
    plan,
)
from worker.core.run.reducers import Change, LocalRun
from worker.core.run.states import MACHINE, RunState, Trigger

ALONE = Seat(index=0, members=1, first_rank=0, ranks=1, size=1)
CHIEF = Seat(index=0, members=2, first_rank=0, ranks=1, size=2)
SECOND = Seat(index=1, members=2, first_rank=1, ranks=1, size=2)
WIDE = Seat(index=0, members=1, first_rank=0, ranks=3, size=3)


def _run(seat: Seat = ALONE, state: RunState = RunState.FETCHING, **more: object) -> LocalRun:
    fresh = LocalRun(AllocationId(UUID(int=1)), RunId(UUID(int=2)), 1, 1, seat, 60.0, state)
    return replace(fresh, **more)  # type: ignore[arg-type]


def _running(seat: Seat = ALONE, **more: object) -> LocalRun:
    return _run(seat, RunState.RUNNING, ranks_asked=True, **more)


def _act(run: LocalRun, now: float = 0.0) -> tuple[LocalRun, tuple[Action, ...]]:
    after, actions = plan(run, now)
    again, none = plan(after, now)
    assert again == after
    assert none == () or isinstance(none[0], Forget)
    return after, actions


def _want(run: LocalRun, wanted: Signal, rendezvous: str | None = None) -> LocalRun:
    return core.on_desired(run, Change(1, wanted, None, rendezvous, 60.0))


def test_every_state_can_be_reached_and_the_end_is_final() -> None:
    assert MACHINE.reachable() == frozenset(RunState)
    assert all(MACHINE.next(RunState.EXITED, trigger) is RunState.EXITED for trigger in Trigger)


def test_a_run_alone_starts_when_it_is_fetched() -> None:
    run = _run()
    assert _act(run)[1] == ()
    run, actions = _act(core.on_fetched(run))
    assert actions == (StartRanks(),)
    run = core.on_started(run)
    assert run.state is RunState.RUNNING
    run = core.on_exit(run, 0, 0, 5.0)
    assert (run.state, run.exit_code, run.fault) == (RunState.EXITED, 0, None)


def test_a_chief_opens_the_rendezvous_first() -> None:
    run, actions = _act(core.on_fetched(_run(CHIEF)))
    assert actions == (OpenRendezvous(),)
    run, actions = _act(core.on_rendezvous(run, "10.0.0.1:5"))
    assert actions == (StartRanks(),)
    assert _want(run, Signal.RUN, "other:1").rendezvous == "10.0.0.1:5"


def test_another_member_waits_for_the_chief() -> None:
    run, actions = _act(core.on_fetched(_run(SECOND)))
    assert actions == ()
    _, actions = _act(_want(run, Signal.RUN, "10.0.0.1:5"))
    assert actions == (StartRanks(),)


@pytest.mark.parametrize("signal", [Signal.PREEMPT, Signal.PAUSE, Signal.STOP, Signal.CANCEL])
def test_a_signal_is_told_once_and_forced_in_the_end(signal: Signal) -> None:
    run, actions = _act(_want(_running(), signal), now=10.0)
    assert actions == (Tell(signal),)
    assert next_look(run) == 70.0
    assert _act(run, now=69.9)[1] == ()
    run, actions = _act(run, now=70.0)
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 0, -9, 71.0)
    assert (run.forced, run.fault, run.acknowledged) == (True, None, None)


def test_an_acknowledged_signal_is_kept_with_the_exit() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT), now=1.0)
    run = core.on_exit(core.on_acknowledged(run, Signal.PREEMPT), 0, 0, 2.0)
    assert (run.acknowledged, run.forced, run.exit_code) == (Signal.PREEMPT, False, 0)


def test_a_preemption_taken_back_is_told_too() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT))
    run, actions = _act(_want(run, Signal.RUN))
    assert actions == (Tell(Signal.RUN),)
    assert next_look(run) is None


def test_a_preemption_that_comes_again_has_its_whole_time_again() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT), now=0.0)
    run, _ = _act(_want(run, Signal.RUN), now=5.0)
    run, actions = _act(_want(run, Signal.PREEMPT), now=1000.0)
    assert actions == (Tell(Signal.PREEMPT),)
    assert next_look(run) == 1060.0


def test_a_verdict_stands_against_an_older_desired_set() -> None:
    run, actions = _act(core.on_verdict(_running(), Signal.STOP, None))
    assert actions == (Tell(Signal.STOP),)
    run = _want(run, Signal.RUN)
    assert run.asked is Signal.STOP
    assert _act(run)[1] == ()
    assert _want(run, Signal.CANCEL).asked is Signal.CANCEL


def test_a_decided_rung_does_not_come_back_with_an_older_desired_set() -> None:
    def desired(run: LocalRun, decide_at: float | None) -> float | None:
        return core.on_desired(run, Change(1, Signal.RUN, decide_at, None)).decide_at

    fresh = _running(decide_at=3.0)
    assert desired(fresh, 9.0) == 9.0
    decided = core.on_verdict(fresh, Signal.RUN, 9.0)
    assert desired(decided, 3.0) == 9.0
    assert desired(decided, 27.0) == 27.0
    assert desired(decided, None) is None
    assert desired(core.on_verdict(fresh, Signal.RUN, None), 3.0) is None


@pytest.mark.parametrize("state", [RunState.STARTING, RunState.RUNNING])
def test_a_dropped_or_killed_run_is_ended_at_once(state: RunState) -> None:
    for run in (
        core.on_dropped(_run(state=state, ranks_asked=True)),
        _want(_run(state=state, ranks_asked=True), Signal.KILL),
    ):
        after, actions = _act(run)
        assert actions == (KillRanks(),)
        assert after.forced
    ended, _ = plan(core.on_exit(core.on_dropped(_running()), 0, -9, 1.0), 1.0)
    assert plan(ended, 1.0)[1] == (Forget(),)


def test_what_never_started_acknowledges_by_not_starting() -> None:
    for run in (_run(), _run(CHIEF, RunState.STARTING, rendezvous_asked=True)):
        after, _ = _act(_want(run, Signal.PREEMPT))
        assert (after.state, after.acknowledged, after.forced) == (RunState.EXITED, Signal.PREEMPT, False)
        after, _ = _act(_want(run, Signal.KILL))
        assert (after.state, after.acknowledged, after.forced) == (RunState.EXITED, None, True)


def test_a_dead_rank_ends_its_gang_and_gives_the_reason() -> None:
    run = core.on_exit(_running(WIDE), 1, 3, 10.0, core.Cause("ValueError: boom"))
    assert not run.is_over
    assert _act(run, now=10.0 + GANG_GRACE_S - 0.1)[1] == ()
    run, actions = _act(run, now=10.0 + GANG_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 0, -9, 16.0, core.Cause("its echo")), 2, -9, 16.0)
    assert (run.exit_code, run.fault, run.forced) == (3, "user", False)
    assert run.reason == "the trial's code ended with exit code 3 (ValueError: boom): see its log"


def test_a_rank_that_lingers_after_a_good_end_is_ended_without_blame() -> None:
    run = core.on_exit(core.on_exit(_running(WIDE), 0, 0, 10.0), 1, 0, 11.0)
    run, actions = _act(run, now=11.0 + LINGER_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 2, -9, 80.0)
    assert (run.exit_code, run.fault, run.forced) == (0, None, False)


def test_trouble_of_the_machine_is_no_fault_of_the_user() -> None:
    run, actions = _act(core.on_doomed(_running(), "no space left"))
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 0, -9, 1.0)
    assert (run.fault, run.exit_code, run.forced, run.reason) == ("machine", None, False, "no space left")
    lost = core.on_parent_lost(_running())
    assert (lost.state, lost.fault, lost.exit_code) == (RunState.EXITED, "machine", None)


def test_what_hangs_has_a_moment_to_end_by_itself_before_it_is_killed() -> None:
    run, actions = _act(core.on_doomed(_running(WIDE), "it hangs", "user", 10.0 + TERM_GRACE_S), now=10.0)
    assert actions == () and next_look(run) == 10.0 + TERM_GRACE_S
    run = core.on_exit(run, 0, -15, 10.1)
    run, actions = _act(run, now=10.0 + TERM_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 1, -9, 15.1), 2, -9, 15.1)
    assert (run.fault, run.exit_code, run.forced, run.reason) == ("user", None, False, "it hangs")


def test_an_exit_told_twice_counts_once() -> None:
    run = core.on_exit(core.on_exit(_running(WIDE), 0, 1, 1.0), 0, 1, 2.0)
    assert run.exits == ((0, 1),)


EVENTS = st.sampled_from(
    [
        "run",
        "preempt",
        "stop",
        "kill",
        "drop",
        "stop verdict",
        "fetched",
        "met",
        "started",
        "exit 0",
        "exit 1",
        "doom",
        "wait",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([ALONE, CHIEF, SECOND, WIDE]), st.lists(EVENTS, max_size=25))
def test_whatever_happens_it_ends_and_never_starts_twice(seat: Seat, events: list[str]) -> None:
    run, now, starts, kills = _run(seat), 0.0, 0, 0
    exited: set[int] = set()
    for event in (*events, "drop", "wait", *["exit 0"] * seat.ranks):
        now += 1000.0 if event == "wait" else 1.0
        if run.is_over:
            break
        match event:
            case "run" | "preempt" | "stop" | "kill":
                run = _want(run, Signal(event), "m:1")
            case "drop":
                run = core.on_dropped(run)
            case "stop verdict":
                run = core.on_verdict(run, Signal.STOP, None)
            case "fetched" if run.state is RunState.FETCHING:
                run = core.on_fetched(run)
            case "met" if run.rendezvous_asked:
                run = core.on_rendezvous(run, "m:1")
            case "started" if run.ranks_asked and run.state is RunState.STARTING:
                run = core.on_started(run)
            case "doom":
                run = core.on_doomed(run, "trouble")
            case "exit 0" | "exit 1" if run.ranks_asked and len(exited) < seat.ranks:
                rank = seat.first_rank + len(exited)
                exited.add(rank)
                run = core.on_exit(run, rank, int(event[-1]), now)
        run, actions = plan(run, now)
        starts += sum(isinstance(action, StartRanks) for action in actions)
        kills += sum(isinstance(action, KillRanks) for action in actions)
        assert plan(run, now)[0] == run
    assert run.is_over
    assert starts <= 1
    assert kills <= 1


def test_ranks_that_are_being_ended_are_told_nothing_more() -> None:
    run = core.on_fetched(_run(WIDE))
    run, _ = plan(run, 0.0)
    run = core.on_exit(_want(run, Signal.PREEMPT, "m:1"), WIDE.first_rank, 0, 1.0)
    run, actions = plan(run, 1000.0)
    assert actions == (KillRanks(),)
    assert plan(run, 1000.0) == (run, ())


def test_a_rank_that_calls_its_hyperparameters_invalid_ends_its_gang_with_its_reason() -> None:
    run = core.on_exit(core.on_invalid(_running(WIDE), "no batch fits"), 1, EXIT_INVALID, 10.0)
    assert not run.is_invalid, "others are running still"
    run, actions = _act(run, now=10.0 + GANG_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 0, -9, 16.0, core.Cause("its echo")), 2, -9, 16.0)
    assert (run.is_invalid, run.fault, run.forced) == (True, "user", False)
    assert run.reason == "the trial's code calls its hyperparameters invalid: no batch fits"


def test_a_machine_in_trouble_proves_no_hyperparameters_invalid() -> None:
    doomed = core.on_doomed(core.on_invalid(_running(), "no batch fits"), "no space left")
    run = core.on_exit(doomed, 0, EXIT_INVALID, 1.0)
    assert (run.is_invalid, run.fault) == (False, "machine")

"""A run on this machine: what is done about it, in every order in which things can happen."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from muster.wire import EXIT_INVALID
from shared.ids import AllocationId, RunId
from shared.messages.trial_specs import Signal
from worker.core.gang.assignment import Formation, Gang, RankAssignment
from worker.core.hang import TERM_GRACE_S
from worker.core.run import reducers as core
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
from worker.core.run.desired import Desired
from worker.core.run.plan import GANG_GRACE_S, LINGER_S, next_check, plan, plan_step
from worker.core.run.records import LocalRun, Request
from worker.core.run.states import MACHINE, RunState, Trigger

ALONE = RankAssignment(index=0, members=1, first_rank=0, ranks=1, size=1)
CHIEF = RankAssignment(index=0, members=2, first_rank=0, ranks=1, size=2)
SECOND = RankAssignment(index=1, members=2, first_rank=1, ranks=1, size=2)
WIDE = RankAssignment(index=0, members=1, first_rank=0, ranks=3, size=3)


ALLOCATION, RUN = AllocationId(UUID(int=1)), RunId(UUID(int=2))


def _run(
    assignment: RankAssignment = ALONE, state: RunState = RunState.PREPARING, *, asked: bool = False
) -> LocalRun:
    gang = Gang(1, assignment, rendezvous_asked=asked)
    return LocalRun(ALLOCATION, RUN, 1, gang, state, Request(preemption_timeout_s=60.0))


def _running(assignment: RankAssignment = ALONE) -> LocalRun:
    return _run(assignment, RunState.RUNNING)


def _desired(wanted: Signal, decide_at: float | None = None, rendezvous: str | None = None) -> Desired:
    return Desired(ALLOCATION, RUN, 1, 1, (), wanted, decide_at, rendezvous, 60.0)


def _act(run: LocalRun, now: float = 0.0) -> tuple[LocalRun, tuple[Action, ...]]:
    after, actions = plan(run, now)
    again, none = plan(after, now)
    assert again == after
    assert none == () or isinstance(none[0], Forget)
    return after, actions


def _want(run: LocalRun, wanted: Signal, rendezvous: str | None = None) -> LocalRun:
    return core.on_desired(run, _desired(wanted, None, rendezvous))


def test_every_state_can_be_reached_and_the_end_is_final() -> None:
    assert MACHINE.reachable() == frozenset(RunState)
    assert all(MACHINE.next(RunState.FORGOTTEN, trigger) is RunState.FORGOTTEN for trigger in Trigger)
    late = (trigger for trigger in Trigger if trigger is not Trigger.FORGOTTEN)
    assert all(MACHINE.next(RunState.EXITED, trigger) is RunState.EXITED for trigger in late)


def test_a_run_alone_starts_when_it_is_fetched() -> None:
    run = _run()
    assert _act(run)[1] == ()
    run, actions = _act(core.on_prepared(run))
    assert actions == (StartRanks(),)
    run = core.on_started(run)
    assert run.state is RunState.RUNNING
    run = core.on_exit(run, 0, 0, 5.0)
    assert (run.state, run.ending.exit_code, run.ending.fault) == (RunState.EXITED, 0, None)


def test_a_chief_opens_the_rendezvous_first() -> None:
    run, actions = _act(core.on_prepared(_run(CHIEF)))
    assert actions == (OpenRendezvous(),)
    run, actions = _act(core.on_rendezvous(run, "10.0.0.1:5"))
    assert actions == (StartRanks(),)
    assert _want(run, Signal.RUN, "other:1").gang.rendezvous == "10.0.0.1:5"


def test_another_member_waits_for_the_chief() -> None:
    run, actions = _act(core.on_prepared(_run(SECOND)))
    assert actions == ()
    _, actions = _act(_want(run, Signal.RUN, "10.0.0.1:5"))
    assert actions == (StartRanks(),)


@pytest.mark.parametrize("signal", [Signal.PREEMPT, Signal.PAUSE, Signal.STOP, Signal.CANCEL])
def test_a_signal_is_told_once_and_forced_in_the_end(signal: Signal) -> None:
    run, actions = _act(_want(_running(), signal), now=10.0)
    assert actions == (SendSignal(signal),)
    assert next_check(run) == 70.0
    assert _act(run, now=69.9)[1] == ()
    run, actions = _act(run, now=70.0)
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 0, -9, 71.0)
    assert (run.ending.forced, run.ending.fault, run.notice.acknowledged) == (True, None, None)


def test_an_acknowledged_signal_is_kept_with_the_exit() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT), now=1.0)
    run = core.on_exit(core.on_acknowledged(run, Signal.PREEMPT), 0, 0, 2.0)
    assert (run.notice.acknowledged, run.ending.forced, run.ending.exit_code) == (Signal.PREEMPT, False, 0)


def test_a_preemption_taken_back_is_told_too() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT))
    run, actions = _act(_want(run, Signal.RUN))
    assert actions == (SendSignal(Signal.RUN),)
    assert next_check(run) is None


def test_a_preemption_that_comes_again_has_its_whole_time_again() -> None:
    run, _ = _act(_want(_running(), Signal.PREEMPT), now=0.0)
    run, _ = _act(_want(run, Signal.RUN), now=5.0)
    run, actions = _act(_want(run, Signal.PREEMPT), now=1000.0)
    assert actions == (SendSignal(Signal.PREEMPT),)
    assert next_check(run) == 1060.0


def test_a_verdict_stands_against_an_older_desired_set() -> None:
    run, actions = _act(core.on_verdict(_running(), Signal.STOP, None))
    assert actions == (SendSignal(Signal.STOP),)
    run = _want(run, Signal.RUN)
    assert run.asked is Signal.STOP
    assert _act(run)[1] == ()
    assert _want(run, Signal.CANCEL).asked is Signal.CANCEL


def test_a_decided_rung_does_not_come_back_with_an_older_desired_set() -> None:
    def desired(run: LocalRun, decide_at: float | None) -> float | None:
        return core.on_desired(run, _desired(Signal.RUN, decide_at)).request.decide_at

    fresh = core.on_desired(_running(), _desired(Signal.RUN, 3.0))
    assert desired(fresh, 9.0) == 9.0
    decided = core.on_verdict(fresh, Signal.RUN, 9.0)
    assert desired(decided, 3.0) == 9.0
    assert desired(decided, 27.0) == 27.0
    assert desired(decided, None) is None
    assert desired(core.on_verdict(fresh, Signal.RUN, None), 3.0) is None


@pytest.mark.parametrize("state", [RunState.STARTING, RunState.RUNNING])
def test_a_dropped_or_killed_run_is_ended_at_once(state: RunState) -> None:
    for run in (
        core.on_dropped(_run(state=state)),
        _want(_run(state=state), Signal.KILL),
    ):
        after, actions = _act(run)
        assert actions == (KillRanks(),)
        assert after.ending.forced
    ended, _ = plan(core.on_exit(core.on_dropped(_running()), 0, -9, 1.0), 1.0)
    assert plan(ended, 1.0)[1] == (Forget(),)


def test_what_never_started_acknowledges_by_not_starting() -> None:
    for run in (_run(), _run(CHIEF, RunState.RENDEZVOUS, asked=True)):
        after, _ = _act(_want(run, Signal.PREEMPT))
        assert (after.state, after.notice.acknowledged, after.ending.forced) == (
            RunState.EXITED,
            Signal.PREEMPT,
            False,
        )
        after, _ = _act(_want(run, Signal.KILL))
        assert (after.state, after.notice.acknowledged, after.ending.forced) == (RunState.EXITED, None, True)


def test_a_dead_rank_ends_its_gang_and_gives_the_reason() -> None:
    run = core.on_exit(_running(WIDE), 1, 3, 10.0, core.Cause("ValueError: boom"))
    assert not run.is_over
    assert _act(run, now=10.0 + GANG_GRACE_S - 0.1)[1] == ()
    run, actions = _act(run, now=10.0 + GANG_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 0, -9, 16.0, core.Cause("its echo")), 2, -9, 16.0)
    assert (run.ending.exit_code, run.ending.fault, run.ending.forced) == (3, "user", False)
    assert (
        run.ending.reason == "the trial's code ended with exit code 3 (ValueError: boom): see the trial's log"
    )


def test_a_rank_that_lingers_after_a_good_end_is_ended_without_blame() -> None:
    run = core.on_exit(core.on_exit(_running(WIDE), 0, 0, 10.0), 1, 0, 11.0)
    run, actions = _act(run, now=11.0 + LINGER_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 2, -9, 80.0)
    assert (run.ending.exit_code, run.ending.fault, run.ending.forced) == (0, None, False)


def test_trouble_of_the_machine_is_no_fault_of_the_user() -> None:
    run, actions = _act(core.on_fault(_running(), "no space left"))
    assert actions == (KillRanks(),)
    run = core.on_exit(run, 0, -9, 1.0)
    assert (run.ending.fault, run.ending.exit_code, run.ending.forced, run.ending.reason) == (
        "machine",
        None,
        False,
        "no space left",
    )
    lost = core.on_parent_lost(_running())
    assert (lost.state, lost.ending.fault, lost.ending.exit_code) == (RunState.EXITED, "machine", None)


def test_what_hangs_has_a_moment_to_end_by_itself_before_it_is_killed() -> None:
    run, actions = _act(core.on_fault(_running(WIDE), "it hangs", "user", 10.0 + TERM_GRACE_S), now=10.0)
    assert actions == () and next_check(run) == 10.0 + TERM_GRACE_S
    run = core.on_exit(run, 0, -15, 10.1)
    run, actions = _act(run, now=10.0 + TERM_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 1, -9, 15.1), 2, -9, 15.1)
    assert (run.ending.fault, run.ending.exit_code, run.ending.forced, run.ending.reason) == (
        "user",
        None,
        False,
        "it hangs",
    )


def test_an_exit_told_twice_counts_once() -> None:
    run = core.on_exit(core.on_exit(_running(WIDE), 0, 1, 1.0), 0, 1, 2.0)
    assert run.exits.codes == ((0, 1),)


EVENTS = st.sampled_from(
    [
        "run",
        "preempt",
        "stop",
        "kill",
        "drop",
        "stop verdict",
        "prepared",
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
def test_whatever_happens_it_ends_and_never_starts_twice(
    assignment: RankAssignment, events: list[str]
) -> None:
    run, now, starts, kills = _run(assignment), 0.0, 0, 0
    exited: set[int] = set()
    for event in (*events, "drop", "wait", *["exit 0"] * assignment.ranks):
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
            case "prepared" if run.state is RunState.PREPARING:
                run = core.on_prepared(run)
            case "met" if run.gang.rendezvous_asked:
                run = core.on_rendezvous(run, "m:1")
            case "started" if run.state is RunState.STARTING:
                run = core.on_started(run)
            case "doom":
                run = core.on_fault(run, "trouble")
            case "exit 0" | "exit 1" if run.has_launched and len(exited) < assignment.ranks:
                rank = assignment.first_rank + len(exited)
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
    run = core.on_prepared(_run(WIDE))
    run, _ = plan(run, 0.0)
    run = core.on_exit(_want(run, Signal.PREEMPT, "m:1"), WIDE.first_rank, 0, 1.0)
    run, actions = plan(run, 1000.0)
    assert actions == (KillRanks(),)
    assert plan(run, 1000.0) == (run, ())


def test_a_rank_that_calls_its_hyperparameters_invalid_ends_its_gang_with_its_reason() -> None:
    run = core.on_exit(_running(WIDE), 1, EXIT_INVALID, 10.0, core.Cause(invalid="no batch fits"))
    assert not run.is_invalid, "others are running still"
    run, actions = _act(run, now=10.0 + GANG_GRACE_S)
    assert actions == (KillRanks(),)
    run = core.on_exit(core.on_exit(run, 0, -9, 16.0, core.Cause("its echo")), 2, -9, 16.0)
    assert (run.is_invalid, run.ending.fault, run.ending.forced) == (True, "user", False)
    assert run.ending.reason == "the trial's code reported its hyperparameters as invalid: no batch fits"


def test_a_machine_in_trouble_proves_no_hyperparameters_invalid() -> None:
    cause = core.Cause(machine="no space left", invalid="no batch fits")
    run = core.on_exit(_running(), 0, EXIT_INVALID, 1.0, cause)
    assert (run.is_invalid, run.ending.fault) == (False, "machine")


def _moved(**edges: str) -> dict[Trigger, RunState]:
    return {Trigger(trigger): RunState(state) for trigger, state in edges.items()}


KILLED = {"killed": "killing", "all_ended": "exited"}


@pytest.mark.parametrize(
    ("state", "moves"),
    [
        (
            RunState.PREPARING,
            _moved(prepared="rendezvous", preparation_failed="exited", cancelled="exited"),
        ),
        (
            RunState.RENDEZVOUS,
            _moved(
                launched="starting",
                start_failed="exited",
                cancelled="exited",
                started="running",
                all_ended="exited",
            ),
        ),
        (RunState.STARTING, _moved(started="running", start_failed="exited", **KILLED)),
        (RunState.RUNNING, _moved(resize_ordered="resizing", terminated="terminating", **KILLED)),
        (RunState.RESIZING, _moved(resized="running", terminated="terminating", **KILLED)),
        (RunState.TERMINATING, _moved(**KILLED)),
        (RunState.KILLING, _moved(all_ended="exited")),
        (RunState.EXITED, _moved(forgotten="forgotten")),
        (RunState.FORGOTTEN, {}),
    ],
)
def test_only_these_triggers_move_a_run(state: RunState, moves: dict[Trigger, RunState]) -> None:
    assert {
        trigger: MACHINE.next(state, trigger) for trigger in Trigger if MACHINE.moves(state, trigger)
    } == moves


def test_an_end_is_concluded_before_it_is_kept_and_only_once() -> None:
    running = _running()
    ended = plan_step(running, core.on_exit(running, 0, 0, 1.0), 1.0)
    assert (ended.first, ended.after) == ((Conclude(),), ())
    assert plan_step(ended.run, ended.run, 2.0).first == ()
    dropped = plan_step(ended.run, core.on_dropped(ended.run), 3.0)
    assert (dropped.first, dropped.after) == ((), (Forget(),))
    assert core.on_forgotten(dropped.run).state is RunState.FORGOTTEN


def test_a_decision_that_moves_is_told_before_it_is_kept() -> None:
    running = _running()
    step = plan_step(running, core.on_desired(running, _desired(Signal.STOP, 9.0)), 1.0)
    assert (step.first, step.after) == ((Decide(Signal.STOP, 9.0),), (SendSignal(Signal.STOP),))
    assert plan_step(step.run, step.run, 2.0) == plan_step(step.run, step.run, 3.0)


def test_what_a_resize_needs_is_done_in_one_step() -> None:
    wider = RankAssignment(index=0, members=1, first_rank=0, ranks=2, size=2)
    running = core.on_prepared(_run())
    running = core.on_started(plan(running, 0.0)[0])
    asked = replace(running, gang=replace(running.gang, generation=2, formation=Formation(2, wider)))
    step = plan_step(running, asked, 1.0)
    assert [type(action).__name__ for action in step.after] == ["StartStandbyRanks", "OpenRendezvous"]
    settled = replace(step.run, gang=replace(step.run.gang, assignment=wider, formation=None))
    assert plan_step(step.run, settled, 2.0).after == (CloseRendezvous(),)


def test_ranks_that_hang_are_terminated_but_what_does_not_train_is_ended_at_once() -> None:
    hung = core.on_fault(_running(), "it hangs", "user", 10.0)
    assert (hung.state, hung.ending.kill_at) == (RunState.TERMINATING, 10.0)
    starting = core.on_fault(_run(state=RunState.STARTING), "it hangs", "user", 10.0)
    assert _act(starting, now=1.0)[1] == (KillRanks(),)

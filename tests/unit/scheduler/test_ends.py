"""What follows from an end: restart, park, close; and that late news changes nothing."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers import requests, run_completion
from services.scheduler.core.reducers.run_outcomes import MAX_RUNS_WITHOUT_PROGRESS
from services.scheduler.core.reducers.workers import on_removed, on_silent_worker_removed
from services.scheduler.core.state.observed import Observed
from services.scheduler.core.state.published_events import Closed, Ended, WorkerRemoved
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.run_states import GANG, RUN, RunState
from services.scheduler.core.state.records.trial import REQUEST, back_off
from services.scheduler.core.state.records.worker import DRAIN, LIVENESS
from shared.ids import WorkerId
from shared.messages.trial_specs import DesiredState, Signal
from shared.state_machine import StateMachine
from tests.unit.scheduler.world import World

RUNS, PARKS, STOPS, CANCELS, KILLS = (
    DesiredState.RUN,
    DesiredState.PARK,
    DesiredState.STOP,
    DesiredState.CANCEL,
    DesiredState.KILL,
)
FAILED = RunExit(exit_code=1)
MACHINE = RunExit(exit_code=None, is_machine_fault=True)
INVALID = RunExit(exit_code=65, is_invalid=True, reason="no batch fits")


def told(world: World) -> tuple[str, bool, str | None]:
    """Outcome of the run, whether it was charged, and how the request closed."""
    facts = world.cluster.take_unsaved().facts
    ended = [fact for fact in facts if isinstance(fact, Ended)]
    closed = [fact for fact in facts if isinstance(fact, Closed)]
    assert len(ended) == 1 and len(closed) <= 1
    return ended[0].ending.outcome, ended[0].ending.charged, closed[0].outcome if closed else None


@pytest.mark.parametrize(
    ("wanted", "exited", "expected"),
    [
        (RUNS, RunExit(), ("completed", False, "completed")),
        (RUNS, FAILED, ("failed", True, None)),
        (RUNS, MACHINE, ("lost", False, None)),
        (RUNS, INVALID, ("failed", False, "failed")),
        (RUNS, INVALID._replace(acknowledged=Signal.PREEMPT), ("failed", False, "failed")),
        (PARKS, INVALID, ("failed", False, "failed")),
        (STOPS, INVALID, ("stopped", False, "stopped")),
        (CANCELS, INVALID, ("cancelled", False, "cancelled")),
        (RUNS, RunExit(acknowledged=Signal.PREEMPT), ("preempted", False, None)),
        (RUNS, RunExit(1, acknowledged=Signal.PREEMPT), ("preempted", False, None)),
        (RUNS, RunExit(acknowledged=Signal.STOP), ("stopped", False, "stopped")),
        (RUNS, RunExit(acknowledged=Signal.PAUSE), ("parked", False, "parked")),
        (PARKS, RunExit(acknowledged=Signal.PAUSE), ("parked", False, "parked")),
        (PARKS, RunExit(), ("completed", False, "completed")),
        (PARKS, FAILED, ("parked", False, "parked")),
        (STOPS, RunExit(acknowledged=Signal.STOP), ("stopped", False, "stopped")),
        (STOPS, RunExit(), ("completed", False, "completed")),
        (STOPS, FAILED, ("stopped", False, "stopped")),
        (STOPS, MACHINE, ("stopped", False, "stopped")),
        (STOPS, RunExit(acknowledged=Signal.PREEMPT), ("preempted", False, "stopped")),
        (CANCELS, RunExit(acknowledged=Signal.CANCEL), ("cancelled", False, "cancelled")),
        (CANCELS, RunExit(exit_code=-9, forced=True), ("cancelled", False, "cancelled")),
        (KILLS, RunExit(exit_code=-9, forced=True), ("killed", False, "killed")),
        (KILLS, RunExit(), ("completed", False, "completed")),
    ],
)
def test_an_exit_means(wanted: DesiredState, exited: RunExit, expected: tuple[str, bool, str | None]) -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    if wanted is not RUNS:
        world.want(1, desired_state=wanted, version=2)
    world.cluster.take_unsaved()
    world.exit(1, exited)
    assert told(world) == expected
    assert world.trial(1).state == ("closed" if expected[2] else "queued")


def test_a_gang_over_several_workers_hangs_when_each_says_so_and_is_charged_once() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.cluster.take_unsaved()
    hung = {name: tuple(replace(one, hangs=True) for one in world.observed(name)) for name in ("a", "b")}
    world.worker("a", allocations=hung["a"])
    world.worker("b")
    assert not world.run(1).gang.hangs, "one of them may work for the other"
    world.worker("a")
    world.worker("b", allocations=hung["b"])
    assert not world.run(1).gang.hangs, "the first has moved since"
    world.cluster.take_unsaved()
    world.worker("a", allocations=hung["a"])
    assert world.run(1).gang.hangs and set(world.cluster.take_unsaved().desired) >= {"a", "b"}
    world.exit(1, RunExit(exit_code=None, reason="the trial hangs"), workers=("b",))
    world.exit(1, RunExit(exit_code=None, reason="the trial hangs too"), workers=("a",))
    assert told(world) == ("failed", True, None)
    assert world.trial(1).restarts == 1


def test_invalid_hyperparameters_are_told_of_run_and_request_with_their_reason() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.cluster.take_unsaved()
    world.exit(1, FAILED, workers=("a",))
    world.exit(1, INVALID, workers=("b",))
    facts = world.cluster.take_unsaved().facts
    (closed,) = (fact for fact in facts if isinstance(fact, Closed))
    (ended,) = (fact for fact in facts if isinstance(fact, Ended))
    assert closed.is_invalid and ended.ending.is_invalid
    assert closed.reason == ended.ending.reason == "no batch fits"
    assert world.trial(1).restarts == 0


def test_restarts_are_charged_until_they_are_used_up() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    for attempt in range(3):
        world.cycle()
        world.cluster.take_unsaved()
        world.exit(1, FAILED)
        assert world.trial(1).restarts == min(attempt + 1, 2)
    assert world.trial(1).state == "closed"
    assert world.trial(1).runs == 3


def test_machine_trouble_is_free_but_not_without_end() -> None:
    world = World()
    world.want(1)
    for attempt in range(MAX_RUNS_WITHOUT_PROGRESS):
        world.wait(back_off(attempt).total_seconds())
        world.worker("a", allocations=())
        assert world.cycle(), attempt
        world.silence("a")
    assert world.trial(1).state == "closed"
    assert world.trial(1).restarts == 0


def test_uncharged_ends_back_off_and_the_last_one_names_the_cause() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    waited: list[float] = []
    for _ in range(MAX_RUNS_WITHOUT_PROGRESS):
        before = world.now
        while not world.cycle():
            assert explain(world.cluster, world.trial(1)).code == "waiting_to_retry"
            world.wait(1)
        waited.append((world.now - before).total_seconds())
        world.exit(1, MACHINE._replace(reason="the object store has no such object"))
    closed = [fact for fact in world.cluster.take_unsaved().facts if isinstance(fact, Closed)]
    assert waited == [0, 0, 2, 4, 8, 16, 32, 64, 128, 256]
    assert (world.trial(1).state, world.trial(1).restarts) == ("closed", 0)
    assert [fact.reason for fact in closed] == [
        "the object store has no such object; 10 runs in a row ended without a new checkpoint or a higher step"
    ]


def test_progress_restarts_the_count_of_runs_without_progress() -> None:
    world = World()
    world.want(1)
    for attempt in range(3 * MAX_RUNS_WITHOUT_PROGRESS):
        world.wait(60)
        world.worker("a", allocations=())
        world.cycle()
        step = attempt // 5
        world.exit(1, RunExit(exit_code=None, is_machine_fault=True, step=step))
    assert not world.trial(1).is_closed


def test_a_lost_gang_frees_its_other_slots_only_when_they_are_really_free() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.want(2)
    world.silence("a")
    assert world.trial(1).state == "queued"
    assert world.cycle() == []
    world.worker("b", allocations=())
    world.cycle()
    assert world.running() == {2}


def test_one_failed_member_ends_the_gang_as_a_whole_with_its_cause() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.cluster.take_unsaved()
    world.exit(1, RunExit(exit_code=3, reason="the script raised"), workers=("b",))
    assert world.run(1).state is RunState.KILLING and not world.run(1).is_ended
    world.exit(1, RunExit(exit_code=-9, forced=True, validations=4), workers=("a",))
    fact = next(fact for fact in world.cluster.take_unsaved().facts if isinstance(fact, Ended))
    assert fact.exit and (fact.exit.exit_code, fact.exit.validations) == (3, 4)
    assert fact.ending.charged


def test_a_gang_whose_first_member_ended_well_is_given_time_then_ended() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.exit(1, workers=("a",))
    world.cluster.apply(run_completion.on_tick(world.cluster, world.now + timedelta(seconds=29)))
    assert world.run(1).state is not RunState.KILLING
    world.cluster.apply(run_completion.on_tick(world.cluster, world.now + timedelta(seconds=30)))
    assert world.run(1).state is RunState.KILLING


@pytest.mark.parametrize(("settled", "expected"), [(2, {1}), (1, set())])
def test_a_successor_waits_until_the_registry_has_settled_what_was_announced(
    settled: int, expected: set[int]
) -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.exit(1, RunExit(exit_code=1, checkpoints=2))
    assert world.cycle() == []
    assert world.trial(1).state == "awaiting"
    world.wait(24 * 3600)
    assert world.cycle() == [], "no time that passes here gives a checkpoint up"
    world.cluster.apply(requests.on_settled(world.cluster, world.run(1).id, world.now, settled))
    world.cycle()
    assert world.running() == expected


def test_a_worker_that_does_not_come_back_is_told_once_and_one_that_is_here_never() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.silence("a")
    world.cluster.take_unsaved()
    for name in ("a", "b"):
        world.cluster.apply(
            on_silent_worker_removed(world.cluster, WorkerId(name), "not heard for 30 minutes")
        )
    gone = [fact for fact in world.cluster.take_unsaved().facts if isinstance(fact, WorkerRemoved)]
    assert [fact.worker.id for fact in gone] == ["a"]


def test_a_request_without_a_run_closes_once_with_what_was_wanted() -> None:
    world = World()
    world.want(1)
    world.want(1, desired_state=STOPS, version=2)
    world.want(1, desired_state=KILLS, version=3)
    facts = world.cluster.take_unsaved().facts
    assert [fact.outcome for fact in facts if isinstance(fact, Closed)] == ["stopped"]


def test_the_newest_version_wins_and_a_closed_request_opens_only_by_its_next_number() -> None:
    world = World()
    world.worker("a")
    world.want(1, version=5, desired_state=STOPS)
    world.want(1, version=4)
    assert world.trial(1).is_closed
    world.want(1, version=6, request=1)
    assert world.trial(1).is_closed
    world.want(1, version=7, request=2)
    assert [run.number for run in world.cycle()] == [1]


def test_an_unknown_pool_is_rejected_with_the_reason() -> None:
    world = World()
    world.want(1, pool="nowhere")
    fact = world.cluster.take_unsaved().facts[0]
    assert isinstance(fact, Closed) and (fact.outcome, fact.reason) == (
        "rejected",
        "pool nowhere does not exist",
    )


def test_a_run_that_its_worker_has_forgotten_is_lost_and_free_of_charge() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.worker("a", allocations=())
    assert world.trial(1).state == "running", "not yet delivered is not lost"
    world.worker("a")
    world.cluster.take_unsaved()
    world.worker("a", allocations=())
    assert told(world) == ("lost", False, None)


def test_an_exit_of_another_token_or_repeated_changes_nothing() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    run = world.run(1)
    stale = Observed(run.allocation, run.id, run.token - 1, exit=RunExit())
    world.worker("a", allocations=(stale,))
    assert world.trial(1).state == "running"
    world.exit(1, FAILED)
    world.exit(1, FAILED)
    assert world.trial(1).restarts == 1


def test_a_paused_and_resumed_run_goes_back_to_the_queue() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.want(1, desired_state=PARKS, version=2)
    world.want(1, version=3)
    world.exit(1, RunExit(acknowledged=Signal.PAUSE))
    assert world.trial(1).state == "queued"


def test_a_lost_worker_that_returns_holds_its_slots_until_it_drops_the_old_run() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    old = world.observed("a")
    world.silence("a")
    world.worker("a", allocations=old)
    assert world.cycle() == []
    assert WorkerId("a") in world.unsaved.desired
    world.worker("a", allocations=())
    assert [run.number for run in world.cycle()] == [2]


@pytest.mark.parametrize("machine", [REQUEST, RUN, GANG, LIVENESS, DRAIN], ids=lambda machine: machine.name)
def test_every_state_is_reachable_and_final_ones_are_absorbing(machine: StateMachine[Any, Any]) -> None:
    states = {state for state, _ in machine.table} | set(machine.table.values())
    assert machine.reachable() == states
    for state in machine.final:
        assert all(machine.next(state, trigger) == state for _, trigger in machine.table)


def test_a_worker_whose_instance_is_gone_is_not_given_up_once_more() -> None:
    world = World()
    world.worker("a", 1)
    world.cluster.apply(on_removed(world.cluster, WorkerId("a"), world.now))
    world.cluster.unsaved.facts.clear()
    world.silence("a")
    assert world.cluster.unsaved.facts == []

"""One pass over a pool: what the driver sees, and what is to be done about it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from services.provisioner.core.idleness import Idleness
from services.provisioner.core.instance import Instance, State, Trigger, moved
from services.provisioner.core.intents import Presence
from services.provisioner.core.plan import (
    MOST_ATTEMPTS,
    Plan,
    World,
    is_at_rest,
    on_kicked,
    on_not_done,
    on_ordered,
    on_started_again,
    pause_after,
    plan_pool,
)
from services.provisioner.core.sizing import Demand
from shared.ids import WorkerId
from tests.unit.provisioner.world import LONG_AGO, NOW, instance, policy, seconds

S = State
RUNNING, STOPPED = Presence.RUNNING, Presence.STOPPED


def look(
    one: Instance, presence: Presence | None, now: datetime = NOW, may_launch: bool = True, waiting: int = 0
) -> Plan:
    presences = {one.worker: presence} if presence else {}
    return plan_pool(World(policy(), Demand(waiting), [one], presences, {}, may_launch), now)


@pytest.mark.parametrize(
    ("state", "since", "presence", "after"),
    [
        (S.WANTED, LONG_AGO, RUNNING, S.LAUNCHING),
        (S.LAUNCHING, NOW, RUNNING, S.JOINING),
        (S.LAUNCHING, NOW, None, S.LAUNCHING),
        (S.LAUNCHING, LONG_AGO, None, S.TERMINATING),
        (S.JOINING, NOW, RUNNING, S.JOINING),
        (S.JOINING, LONG_AGO, RUNNING, S.TERMINATING),
        (S.READY, NOW, None, S.TERMINATING),
        (S.READY, LONG_AGO, STOPPED, S.READY),
        (S.DRAINING, NOW, None, S.TERMINATING),
        (S.DRAINED, NOW, RUNNING, S.TERMINATING),
        (S.TERMINATING, NOW, None, S.TERMINATING),
    ],
)
def test_what_is_seen_moves(state: State, since: datetime, presence: Presence | None, after: State) -> None:
    plan = look(instance(1, state, since), presence)
    found = plan.moves[0][1].state if plan.moves else state
    assert found is after


def test_a_vanished_machine_ends_as_lost_and_is_replaced() -> None:
    plan = look(instance(1), None)
    assert plan.moves[0][1].ending == "lost"
    assert len(plan.sizing.seats) == 1
    assert plan.ends == (plan.moves[0][1],)


@pytest.mark.parametrize("state", [S.LAUNCHING, S.JOINING, S.READY, S.DRAINING])
def test_a_dead_worker_is_started_again_on_its_machine(state: State) -> None:
    one = instance(1, state, NOW)
    assert [started.worker for started in look(one, STOPPED).starts] == [one.worker]
    assert not look(one, RUNNING).starts


@pytest.mark.parametrize("state", [S.DRAINED, S.TERMINATING])
def test_one_that_is_to_end_is_not_started_again(state: State) -> None:
    assert not look(instance(1, state), STOPPED).starts


def test_a_worker_that_keeps_dying_is_started_later_and_later_and_then_given_up() -> None:
    one, now, pauses = instance(1, S.JOINING, NOW), NOW, []
    while not (plan := look(one, STOPPED, now)).moves:
        assert plan.starts
        one = on_started_again(one, now)
        assert not look(one, STOPPED, now).starts, "not again at once"
        assert one.retry_at is not None
        pauses.append(one.retry_at - now)
        now = one.retry_at
    assert pauses[0] < seconds(1)
    assert pauses == sorted(pauses)
    assert len(pauses) == MOST_ATTEMPTS
    assert plan.moves[0][1].ending == "failed"


def test_a_machine_with_ranks_and_journals_is_not_given_up_for_a_daemon_that_keeps_dying() -> None:
    one = instance(1, attempts=50, ready_at=LONG_AGO, silent_since=NOW - seconds(60))
    assert not look(one, STOPPED).moves
    assert look(one, STOPPED).starts
    assert look(one, STOPPED, NOW + timedelta(minutes=31)).moves[0][1].ending == "failed"


def test_a_worker_that_hangs_is_killed_once_and_then_has_its_time() -> None:
    one = instance(1, is_open=False, silent_since=NOW - seconds(61))
    assert look(one, RUNNING).kicks == (one,)
    assert not look(one, STOPPED).kicks
    assert not look(replace(one, silent_since=None), RUNNING).kicks
    kicked = on_kicked(one, NOW)
    assert kicked.reason == "its worker hung"
    assert not look(kicked, RUNNING).kicks
    again = on_started_again(replace(one, silent_since=LONG_AGO), NOW)
    assert not look(again, RUNNING).kicks, "one that begins again is not yet heard"


def test_a_worker_that_has_lasted_begins_anew() -> None:
    tired = on_started_again(instance(1, attempts=5, retry_at=NOW - seconds(120)), NOW)
    assert tired.attempts == 1


def test_a_worker_that_ran_well_in_between_is_started_again_at_once() -> None:
    tired = on_started_again(instance(1, attempts=6, retry_at=NOW), NOW)
    assert (tired.attempts, tired.retry_at) == (7, NOW + seconds(60))
    assert not look(tired, RUNNING, NOW + seconds(4)).moves, "it may still be about to end"
    ((before, well),) = look(tired, RUNNING, NOW + seconds(6)).moves
    assert before == tired
    assert not look(well, RUNNING, NOW + seconds(7)).moves, "that is told once"
    assert look(well, STOPPED, NOW + seconds(20)).starts == (well,)
    assert on_started_again(well, NOW + seconds(20)).attempts == 1


def test_an_order_that_failed_is_repeated_for_the_same_instance() -> None:
    one = on_not_done(instance(1, S.WANTED), NOW, "the disk is full")
    assert one.reason == "the disk is full"
    assert not look(one, None).starts
    assert [again.id for again in look(one, None, NOW + seconds(1)).starts] == [one.id]


def test_no_new_machine_while_launches_fail() -> None:
    assert not look(instance(1), RUNNING, may_launch=False, waiting=3).sizing.seats
    assert look(instance(1), RUNNING, waiting=3).sizing.seats


def test_an_order_recorded_after_the_joining_changes_nothing() -> None:
    joined = moved(instance(1, S.WANTED), Trigger.JOINED, NOW)
    assert on_ordered(joined, NOW) == joined


def test_pauses_grow_to_a_limit() -> None:
    pauses = [pause_after(failures) for failures in range(1, 40)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == timedelta(seconds=60)


def test_idleness_is_counted_from_the_first_sample_without_work() -> None:
    a, b = WorkerId("a"), WorkerId("b")
    idleness = Idleness()
    idleness.sample({a: 0, b: 1}, NOW)
    idleness.sample({a: 0, b: 0}, NOW + seconds(5))
    assert idleness.since == {a: NOW, b: NOW + seconds(5)}
    idleness.sample({a: 2}, NOW + seconds(10))
    assert not idleness.since


@pytest.mark.parametrize(
    ("facts", "may_launch", "rests"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"is_open": False}, True, False),
        ({"silent_since": NOW}, True, False),
        ({"since": NOW - seconds(1)}, True, False),
        ({"state": S.JOINING, "since": NOW}, True, False),
        ({"state": S.DRAINING}, True, False),
        ({"retry_at": NOW + seconds(9)}, True, False),
    ],
)
def test_time_alone_brings_nothing_when_all_serve(
    facts: dict[str, Any], may_launch: bool, rests: bool
) -> None:
    one = instance(1, **facts)
    seen = World(policy(), Demand(), (one,), {one.worker: RUNNING}, {}, may_launch)
    assert is_at_rest(seen, plan_pool(seen, NOW), NOW) is rests

"""One pass over a pool: what the driver sees, and what is to be done about it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from services.provisioner.core.instances.instance import Instance, InstanceState, InstanceTrigger, moved
from services.provisioner.core.instances.launches import Presence, Sighting
from services.provisioner.core.instances.outcomes import (
    on_failed_attempt,
    on_kicked,
    on_placed,
    on_refused,
    on_started_again,
    pause_after,
)
from services.provisioner.core.instances.refusals import LaunchBackoff, LaunchRefusal, on_refused as on_hold
from services.provisioner.core.planning.listing_gaps import Absences
from services.provisioner.core.planning.loads import Loads, WorkerLoad
from services.provisioner.core.planning.plan import MOST_ATTEMPTS, PoolPlan, PoolWorld, is_idle, plan_pool
from services.provisioner.core.planning.pool_status import Demand, PoolStatus
from shared.ids import WorkerId
from tests.unit.provisioner.world import LONG_AGO, NOW, instance, seconds, spec

S = InstanceState
RUNNING, STOPPED = Presence.RUNNING, Presence.STOPPED


LATE = seconds(90)


def look(one: Instance, presence: Presence | None, now: datetime = NOW, **facts: Any) -> PoolPlan:
    sightings = {one.worker: Sighting(presence)} if presence else {}
    return plan_pool(world(one, sightings=sightings, **facts), now)


def world(one: Instance, waiting: int = 0, holds: Sequence[LaunchBackoff] = (), **facts: Any) -> PoolWorld:
    return PoolWorld(spec(), PoolStatus(Demand(waiting), [one], holds=holds), **facts)


def held() -> LaunchBackoff:
    return on_hold(None, spec().offers[0], LaunchRefusal("unknown", "the disk is full"), NOW)


@pytest.mark.parametrize(
    ("state", "since", "presence", "after"),
    [
        (S.REQUESTED, LONG_AGO, RUNNING, S.LAUNCHING),
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
def test_what_is_seen_moves(
    state: InstanceState, since: datetime, presence: Presence | None, after: InstanceState
) -> None:
    plan = look(instance(1, state, since), presence)
    found = plan.transitions[0][1].state if plan.transitions else state
    assert found is after


def test_a_vanished_machine_ends_as_lost_and_is_replaced() -> None:
    plan = look(instance(1), None)
    assert plan.transitions[0][1].ending == "lost"
    assert len(plan.sizing.launches) == 1
    assert plan.terminations == (plan.transitions[0][1],)


@pytest.mark.parametrize("state", [S.LAUNCHING, S.JOINING, S.READY, S.DRAINING])
def test_a_dead_worker_is_started_again_on_its_machine(state: InstanceState) -> None:
    one = instance(1, state, NOW)
    assert [started.worker for started in look(one, STOPPED).starts] == [one.worker]
    assert not look(one, RUNNING).starts


@pytest.mark.parametrize("state", [S.DRAINED, S.TERMINATING])
def test_one_that_is_to_end_is_not_started_again(state: InstanceState) -> None:
    assert not look(instance(1, state), STOPPED).starts


def test_a_worker_that_keeps_dying_is_started_later_and_later_and_then_given_up() -> None:
    one, now, pauses = instance(1, S.JOINING, NOW), NOW, []
    while not (plan := look(one, STOPPED, now)).transitions:
        assert plan.starts
        one = on_started_again(one, now)
        assert not look(one, STOPPED, now).starts, "not again at once"
        assert one.retry_at is not None
        pauses.append(one.retry_at - now)
        now = one.retry_at
    assert pauses[0] < seconds(1)
    assert pauses == sorted(pauses)
    assert len(pauses) == MOST_ATTEMPTS
    assert plan.transitions[0][1].ending == "failed"


def test_a_machine_with_ranks_and_journals_is_not_given_up_for_a_daemon_that_keeps_dying() -> None:
    one = instance(1, attempts=50, ready_at=LONG_AGO, silent_since=NOW - seconds(60))
    assert not look(one, STOPPED).transitions
    assert look(one, STOPPED).starts
    assert look(one, STOPPED, NOW + timedelta(minutes=31)).transitions[0][1].ending == "failed"


def test_a_worker_that_hangs_is_killed_once_and_then_has_its_time() -> None:
    one = instance(1, is_schedulable=False, silent_since=NOW - seconds(61))
    assert look(one, RUNNING).kills == (one,)
    assert not look(one, STOPPED).kills
    assert not look(replace(one, silent_since=None), RUNNING).kills
    kicked = on_kicked(one, NOW)
    assert kicked.reason == "the worker hung and was killed"
    assert not look(kicked, RUNNING).kills
    again = on_started_again(replace(one, silent_since=LONG_AGO), NOW)
    assert not look(again, RUNNING).kills, "one that begins again is not yet heard"


def test_a_worker_that_has_lasted_begins_anew() -> None:
    tired = on_started_again(instance(1, attempts=5, retry_at=NOW - seconds(120)), NOW)
    assert tired.attempts == 1


def test_a_worker_that_ran_well_in_between_is_started_again_at_once() -> None:
    tired = on_started_again(instance(1, attempts=6, retry_at=NOW), NOW)
    assert (tired.attempts, tired.retry_at) == (7, NOW + seconds(60))
    assert not look(tired, RUNNING, NOW + seconds(4)).transitions, "it may still be about to end"
    ((before, well),) = look(tired, RUNNING, NOW + seconds(6)).transitions
    assert before == tired
    assert not look(well, RUNNING, NOW + seconds(7)).transitions, "that is told once"
    assert look(well, STOPPED, NOW + seconds(20)).starts == (well,)
    assert on_started_again(well, NOW + seconds(20)).attempts == 1


def test_an_order_that_failed_is_repeated_for_the_same_instance() -> None:
    one = on_failed_attempt(instance(1, S.REQUESTED), NOW, "the disk is full")
    assert one.reason == "the disk is full"
    assert not look(one, None).launches
    assert look(one, None, NOW + seconds(1)).launches == (one.intent,)


def test_no_new_machine_while_launches_fail() -> None:
    assert not look(instance(1), RUNNING, holds=[held()], waiting=3).sizing.launches
    assert look(instance(1), RUNNING, waiting=3).sizing.launches


def test_an_order_recorded_after_the_joining_changes_nothing() -> None:
    joined = moved(instance(1, S.REQUESTED), InstanceTrigger.JOINED, NOW)
    assert on_placed(joined, NOW) == joined


def test_pauses_grow_to_a_limit() -> None:
    pauses = [pause_after(failures) for failures in range(1, 40)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == timedelta(seconds=60)


def test_idleness_is_counted_from_the_first_sample_without_work() -> None:
    a, b = WorkerId("a"), WorkerId("b")
    loads = Loads()
    loads.sample({a: WorkerLoad(0), b: WorkerLoad(1)}, NOW)
    loads.sample({a: WorkerLoad(0), b: WorkerLoad(0)}, NOW + seconds(5))
    assert loads.idle_since == {a: NOW, b: NOW + seconds(5)}
    loads.sample({a: WorkerLoad(2)}, NOW + seconds(10))
    assert not loads.idle_since


@pytest.mark.parametrize(
    ("facts", "is_held", "rests"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"is_schedulable": False}, False, False),
        ({"silent_since": NOW}, False, False),
        ({"since": NOW - seconds(1)}, False, False),
        ({"state": S.JOINING, "since": NOW}, False, False),
        ({"state": S.DRAINING}, False, False),
        ({"retry_at": NOW + seconds(9)}, False, False),
    ],
)
def test_time_alone_brings_nothing_when_all_serve(facts: dict[str, Any], is_held: bool, rests: bool) -> None:
    one = instance(1, **facts)
    seen = world(one, sightings={one.worker: Sighting(RUNNING)}, holds=[held()] if is_held else [])
    assert is_idle(seen, plan_pool(seen, NOW), NOW) is rests


def test_a_machine_that_a_late_provider_misses_once_is_not_given_up() -> None:
    one, absences = instance(1), Absences()
    for reading in range(4):
        now = NOW + seconds(45 * reading)
        absences.sample([one.worker], [], now)
        gone = look(one, None, now, lateness={"local": LATE}, absences=absences.missed).transitions
        assert bool(gone) is (reading >= 2), "after three readings and more than it is late"
    assert gone[0][1].ending == "lost"
    assert moved(gone[0][1], InstanceTrigger.ENDED_LOST, now).ended_at == NOW, (
        "it is billed until it was first missed"
    )
    absences.sample([one.worker], [one.worker], now)
    assert not absences.missed


def test_what_the_provider_says_of_times_is_what_is_billed() -> None:
    one = instance(1, S.TERMINATING, launched_at=LONG_AGO, external_id="i-1")
    fact = Sighting(Presence.ENDED, "i-1", launched_at=LONG_AGO + seconds(2), ended_at=NOW - seconds(9))
    ((_, known),) = plan_pool(world(one, sightings={one.worker: fact}), NOW).transitions
    over = moved(known, InstanceTrigger.ENDED_RELEASED, NOW)
    assert (over.launched_at, over.ended_at) == (LONG_AGO + seconds(2), NOW - seconds(9))
    assert not plan_pool(world(known, sightings={one.worker: fact}), NOW).transitions, "that is recorded once"


def test_a_call_that_may_have_worked_is_found_by_what_stands() -> None:
    one = on_failed_attempt(instance(1, S.REQUESTED), NOW, "no answer")
    assert look(one, RUNNING).transitions[0][1].state is S.LAUNCHING
    assert not look(one, RUNNING, NOW + seconds(9)).launches


def test_a_call_that_never_leaves_a_trace_is_given_up() -> None:
    one = instance(1, S.REQUESTED)
    for _ in range(MOST_ATTEMPTS):
        one = on_failed_attempt(one, NOW, "no answer")
    assert look(one, None).transitions[0][1].state is S.TERMINATING


def test_of_two_machines_that_say_they_are_the_same_the_one_on_record_stays() -> None:
    one = instance(1, external_id="i-2")
    twice = {one.worker: Sighting(RUNNING, "i-1", extras=("i-2", "i-3"))}
    assert plan_pool(world(one, sightings=twice), NOW).extras == ((one.worker, "i-1"), (one.worker, "i-3"))
    new = instance(1, S.LAUNCHING, NOW)
    assert plan_pool(world(new, sightings=twice), NOW).extras == ((one.worker, "i-2"), (one.worker, "i-3"))


def test_what_did_not_come_to_anything_speaks_against_its_offer_at_once() -> None:
    plan = look(instance(1, S.JOINING), RUNNING, waiting=3)
    assert [refusal.cause for _, refusal in plan.refusals] == ["never_joins"]
    assert not plan.sizing.launches, "the same is not rented again in the same moment"
    taken = instance(1, purchase="spot")
    assert [refusal.cause for _, refusal in look(taken, None).refusals] == ["no_capacity"]


def test_what_was_refused_ends_without_having_been() -> None:
    one = on_refused(instance(1, S.REQUESTED), NOW, "no capacity")
    assert (one.state, one.launched_at, one.reason) == (S.FAILED, None, "no capacity")
    ready = instance(1)
    assert on_refused(ready, NOW, "no capacity") == ready

"""Placement, order, caps, backfill and preemption, one story each."""

from dataclasses import replace

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers import draining
from services.scheduler.core.state.records.run import RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, trial_id

PREEMPTING = plain(POOL, preemption=True)


@pytest.mark.parametrize(
    ("workers", "slots", "expected"),
    [
        ({"a": 4, "b": 2}, 2, {"b": 2}),
        ({"a": 4, "b": 4}, 4, {"a": 4}),
        ({"a": 1, "b": 1}, 2, {"a": 1, "b": 1}),
        ({"a": 1, "b": 4, "c": 2}, 6, {"b": 4, "c": 2}),
        ({"a": 1, "b": 4, "c": 2}, 5, {"b": 4, "a": 1}),
        ({"a": 1, "b": 1}, 3, None),
        ({"a": 4}, 0, {"a": 0}),
    ],
)
def test_a_gang_gets_the_best_fitting_worker_else_as_few_as_possible(
    workers: dict[str, int], slots: int, expected: dict[str, int] | None
) -> None:
    world = World()
    for name, size in workers.items():
        world.worker(name, size)
    world.want(1, slots)
    world.cycle()
    assert (world.placement(1) if expected else world.running()) == (expected or set())


def test_a_single_node_request_is_never_spread() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2, single_node=True)
    assert world.cycle() == []
    assert explain(world.cluster, world.trial(1)).code == "larger_than_any_worker"


def test_gangs_are_spread_in_exclusive_pools_only() -> None:
    world = World(plain(POOL, exclusive=False))
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    assert world.cycle() == []


def test_an_exclusive_worker_serves_one_tenant_at_a_time_and_then_the_next_in_line() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1, tenant=0)
    world.want(2, tenant=1, experiment=1)
    world.want(3, tenant=0)
    assert world.plan().demand[POOL].waiting == 2, "the idle slot serves another tenant"
    world.cycle()
    assert world.running() == {1}
    assert "1 slot held by other tenants" in explain(world.cluster, world.trial(2)).message
    world.exit(1)
    world.cycle()
    assert world.running() == {2}


def test_order_is_priority_then_submission() -> None:
    world = World()
    world.worker("a", 2)
    world.set_policy(1, priority=50)
    world.set_policy(2, priority=10)
    for number, experiment in ((1, 1), (2, 2), (3, 0), (4, 2)):
        world.want(number, experiment=experiment)
    world.cycle()
    assert world.running() == {2, 4}


def test_max_slots_caps_an_experiment_and_not_those_behind_it() -> None:
    world = World()
    world.worker("a", 4)
    world.set_policy(1, max_slots=2)
    for number in (1, 2, 3):
        world.want(number, experiment=1)
    world.want(4, experiment=2)
    demand = world.plan().demand[POOL]
    assert (demand.waiting, demand.idle) == (0, 1)
    world.cycle()
    assert world.running() == {1, 2, 4}
    assert explain(world.cluster, world.trial(3)).code == "max_slots_reached"
    world.set_policy(1, max_slots=1)
    told = explain(world.cluster, world.trial(3)).message
    assert told == "its experiment holds 2 of the 1 slot that max_slots allows"


def test_the_reason_for_waiting_counts_slots_and_those_ahead() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1, 1)
    world.want(2, 2)
    world.want(3, 2)
    world.cycle()
    told = explain(world.cluster, world.trial(3))
    assert (told.code, told.message) == (
        "waiting_for_slots",
        "waiting for 2 slots; 1 of 2 slots free in pool default; 1 request ahead",
    )


def test_small_requests_do_not_starve_a_gang() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1)
    world.want(2)
    world.cycle()
    world.want(3, 2)
    for number in range(4, 9):
        world.want(number)
    world.exit(1)
    assert world.cycle() == []
    world.exit(2)
    world.cycle()
    assert world.running() == {3}


def test_requests_behind_a_reservation_use_what_it_does_not_need() -> None:
    world = World()
    world.worker("a", 2)
    world.worker("b", 1)
    world.want(1, 1)
    world.want(2, 1)
    world.cycle()
    assert world.placement(1) == {"b": 1}
    world.want(3, 2, single_node=True)
    world.want(4)
    world.want(5)
    world.exit(1)
    world.cycle()
    assert world.running() == {2, 4}


def test_a_more_important_request_takes_the_newest_of_the_least_important() -> None:
    world = World(PREEMPTING)
    world.worker("a", 3)
    world.set_policy(1, priority=60)
    world.set_policy(2, priority=80)
    world.set_policy(3, priority=10)
    world.want(1, experiment=1)
    world.want(2, experiment=2)
    world.want(3, experiment=2)
    world.cycle()
    world.want(4, experiment=3)
    signals = world.plan().signals
    assert [world.cluster.runs[signal.run].trial for signal in signals] == [trial_id(3)]
    world.cycle()
    assert world.plan().signals == ()
    assert world.running() == {1, 2, 3}, "slots are granted when they are free, not when they are asked for"
    world.exit(3, RunExit(acknowledged=Signal.PREEMPT))
    world.cycle()
    assert world.running() == {1, 2, 4}
    assert world.trial(3).state == "queued"


def test_preemption_spares_what_it_does_not_need_and_never_equals() -> None:
    world = World(PREEMPTING)
    world.worker("a", 1)
    world.worker("b", 4)
    world.set_policy(1, priority=80)
    world.set_policy(3, priority=10)
    world.want(1, 4, experiment=1)
    world.want(2, 1, experiment=1)
    world.cycle()
    world.want(3, 4, single_node=True, experiment=3)
    assert [world.cluster.runs[signal.run].trial for signal in world.plan().signals] == [trial_id(1)]
    other = World(PREEMPTING)
    other.worker("a", 1)
    other.want(1)
    other.cycle()
    other.want(2)
    assert other.plan().signals == ()


def test_without_preemption_nobody_is_asked() -> None:
    world = World()
    world.worker("a")
    world.set_policy(1, priority=99)
    world.set_policy(2, priority=1)
    world.want(1, experiment=1)
    world.cycle()
    world.want(2, experiment=2)
    assert world.plan().signals == ()


def test_a_draining_worker_gets_nothing_and_says_when_it_is_empty() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1)
    world.cycle()
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=False))
    world.want(2)
    assert world.cycle() == []
    world.exit(1)
    world.worker("a", 2, is_empty=False)
    assert world.cluster.workers[WorkerId("a")].drain == "draining"
    world.worker("a", 2)
    assert world.cluster.workers[WorkerId("a")].drain == "drained"
    assert explain(world.cluster, world.trial(2)).code == "no_workers"


def test_who_waits_for_a_draining_worker_is_told_of_it() -> None:
    world = World()
    world.worker("a", 2)
    world.worker("b", 1)
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=False))
    world.want(1)
    world.want(2, 2)
    world.want(3)
    world.cycle()
    for number, code in ((2, "larger_than_pool"), (3, "waiting_for_slots")):
        told = explain(world.cluster, world.trial(number))
        assert (told.code, told.facts["draining_slots"]) == (code, 2)
        assert told.message.endswith("; 2 more slots on workers that are being drained (a)")
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=True))
    assert "drained" not in explain(world.cluster, world.trial(3)).message
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=False))
    world.silence("a")
    assert "drained" not in explain(world.cluster, world.trial(3)).message, "it is lost"


def test_what_became_impossible_while_it_waited_is_told_and_holds_up_nobody() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1, 8)
    world.cycle()
    assert explain(world.cluster, world.trial(1)).code == "larger_than_pool"
    world.cluster.put_pool(replace(world.policy, max_slots=4, max_slots_per_worker=2))
    world.want(2, 2)
    assert [run.trial for run in world.cycle()] == [trial_id(2)]
    told = explain(world.cluster, world.trial(1))
    assert (told.code, told.facts["reachable_slots"]) == ("never_fits", 4)
    assert told.message.startswith(
        "can never start: needs 8 slots; pool default can have at most 4 in total."
    )
    world.cluster.put_pool(replace(world.policy, max_slots=8, max_slots_per_worker=2))
    assert explain(world.cluster, world.trial(1)).code == "larger_than_pool"


def test_a_worker_that_this_leader_has_not_heard_gets_nothing() -> None:
    world = World()
    world.worker("a")
    world.cluster.workers[WorkerId("a")].has_heartbeat = False
    world.cluster.put_worker(world.cluster.workers[WorkerId("a")])
    world.want(1)
    assert world.cycle() == []


def test_a_worker_with_work_of_nobody_we_know_is_full_until_it_drops_it() -> None:
    world = World()
    world.want(1)
    world.worker("b")
    world.cycle()
    foreign = world.observed("b")
    other = World()
    other.worker("b", allocations=foreign)
    other.want(2)
    assert other.cycle() == []
    other.worker("b", allocations=())
    other.cycle()
    assert other.running() == {2}


def test_a_new_leader_plans_when_all_workers_that_were_there_have_spoken_or_are_given_up() -> None:
    for is_given_up in (False, True):
        world = World(plain(POOL, preemption=True))
        world.worker("a", 2)
        world.worker("b", 2)
        world.want(1, 2)
        world.cycle()
        away = next(w for w in world.cluster.workers.values() if not w.held)
        away.has_heartbeat = False
        world.cluster.put_worker(away)
        world.set_policy(2, priority=1)
        world.want(2, 2, experiment=2)
        assert world.cycle() == [], "it would ask the first for slots that the silent one has"
        assert not world.run(1).preempted
        if is_given_up:
            world.silence(away.id)
            assert world.cycle() == []
            assert world.run(1).preempted
        else:
            world.worker(away.id, 2)
            assert [run.trial for run in world.cycle()] == [trial_id(2)]
            assert not world.run(1).preempted

"""Booked slots: in their window they are their holder's alone; before it and after it they are anybody's."""

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.planning.plan import plan
from services.scheduler.core.reducers import requests
from services.scheduler.core.state.records.run import RunExit
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id


def busy(workers: int = 2, **rules: object) -> World:
    """Tenant 0 runs one trial a slot on machines of four."""
    world = World(plain(POOL, **rules))
    for number in range(workers):
        world.worker(f"w{number}", 4)
        for slot in range(4):
            world.want(10 * number + slot + 1)
        world.cycle()
    return world


def step(world: World, seconds: float = 10) -> None:
    """Whoever was asked has saved."""
    world.wait(seconds)
    for run in list(world.cluster.runs.values()):
        if run.preempted and not run.is_ended:
            world.exit(run.trial.int - 1000, RunExit(acknowledged=Signal.PREEMPT))
    world.cycle()


def test_before_its_window_nothing_is_held_back() -> None:
    world = busy(preemption=True)
    world.reserve(1, 4, begin_s=600, end_s=1200)
    world.exit(1)
    world.want(50)
    world.cycle()
    assert 50 in world.running()
    assert not world.plan().signals


def test_at_its_begin_runs_of_others_are_asked_and_only_as_many_as_needed() -> None:
    world = busy(preemption=True)
    world.reserve(1, 4, begin_s=100, end_s=1200)
    step(world, 100)
    world.cycle()
    asked = [run for run in world.cluster.runs.values() if run.preempted]
    assert len(asked) == 4
    assert {run.asked.because for run in asked if run.asked} == {"reservation"}
    assert len({run.chief for run in asked}) == 1, "one machine is cleared"
    step(world)
    assert len(world.running()) == 4, "who gave them back does not get them again"
    world.want(60, 4, tenant=1, experiment=6)
    step(world)
    assert 60 in world.running()


def test_where_the_pool_does_not_preempt_slots_are_kept_as_they_come_free() -> None:
    world = busy(workers=1, exclusive=False)
    world.want(40)
    world.reserve(1, 2, begin_s=0, end_s=1200)
    for number in (1, 2, 3):
        world.exit(number)
        step(world)
    assert world.running() == {4, 40}, "the first two that came free are kept, the third is anybody's"
    world.want(60, 2, tenant=1, experiment=6)
    step(world)
    assert world.running() == {4, 40, 60}


def test_what_the_holder_has_counts_and_the_window_ends() -> None:
    world = World(plain(POOL, exclusive=False))
    world.worker("a", 4)
    world.want(60, 2, tenant=1, experiment=6)
    world.cycle()
    world.reserve(1, 2, begin_s=0, end_s=100)
    world.want(1, 2)
    world.cycle()
    assert world.running() == {1, 60}, "what it holds is what it booked"
    world.exit(60)
    world.want(2, 2)
    step(world)
    assert world.running() == {1}
    step(world, 100)
    assert world.running() == {1, 2}


def test_a_workspace_books_against_others_of_its_tenant() -> None:
    world = World(plain(POOL))
    world.worker("a", 4)
    world.reserve(0, 2, begin_s=0, end_s=1000, workspace="lab")
    for number in range(1, 5):
        world.want(number, experiment=1, workspace="class")
    world.want(9, 2, experiment=2, workspace="lab")
    step(world)
    assert world.running() == {1, 2, 9}


def test_a_cancelled_booking_keeps_nothing() -> None:
    world = World(plain(POOL))
    world.worker("a", 4)
    world.reserve(1, 4, begin_s=0, end_s=1000)
    world.want(1)
    step(world)
    assert world.running() == set()
    (name,) = world.cluster.pools[POOL].reservations
    world.cluster.apply(requests.on_reservation_cancelled(world.cluster, name))
    world.cycle()
    assert world.running() == {1}


def test_kept_slots_are_not_idle_for_the_provisioner_and_missing_ones_are_wanted() -> None:
    world = World(plain(POOL))
    world.worker("a", 4)
    world.reserve(1, 6, begin_s=0, end_s=1000)
    world.wait(10)
    demand = world.plan().demand[POOL]
    assert (demand.idle, demand.used, demand.waiting) == (0, 4, 2)


@pytest.mark.parametrize("order", ["priority", "fair_share"])
def test_a_guarantee_and_rank_do_not_take_back_what_is_booked(order: str) -> None:
    """What they took would be kept for the holder, whose next run was asked as the last one: for ever, some ten times a second."""
    world = busy(workers=1, preemption=True, order=order)
    world.quota(0, guaranteed=2)
    world.set_policy(0, priority=1)
    world.reserve(1, 4, begin_s=0, end_s=1200)
    world.set_policy(6, priority=90)
    for number in range(60, 64):
        world.want(number, tenant=1, experiment=6)
    for _ in range(3):
        step(world)
    assert world.running() == {60, 61, 62, 63}
    for _ in range(5):
        step(world)
    assert all(world.run(number).number == 1 for number in range(60, 64)), "nobody asked them"
    step(world, 1200)
    step(world)
    assert world.running() & {1, 2, 3, 4}, "when the window is over, all are as before"


REQUESTS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), min_size=1, max_size=10)
BOOKINGS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 8), st.integers(0, 100), st.integers(20, 200)), max_size=3
)


@settings(max_examples=50, deadline=None)
@given(REQUESTS, BOOKINGS, st.booleans(), st.booleans(), st.sampled_from(["fifo", "priority", "fair_share"]))
def test_others_never_get_what_is_booked_and_records_plan_alike(
    requests: list[tuple[int, int]],
    bookings: list[tuple[int, int, int, int]],
    exclusive: bool,
    preemption: bool,
    order: str,
) -> None:
    """In the window a grant to somebody else leaves the holder what it has booked, as far as the pool has it: free, or on its way."""
    world = World(plain(POOL, exclusive=exclusive, preemption=preemption, order=order))
    for name in ("a", "b"):
        world.worker(name, 4)
    for tenant, slots, begin_s, long_s in bookings:
        world.reserve(tenant, slots, begin_s, begin_s + long_s)
    for number, (slots, tenant) in enumerate(requests, start=1):
        world.want(number, slots, tenant=tenant, experiment=number)
    pool = world.cluster.pools[POOL]
    for _ in range(25):
        before = world.plan()
        assert plan(world.rebuilt(), [POOL]) == before
        booked = {
            tenant_id(tenant): sum(
                one.slots
                for one in pool.reservations.values()
                if one.holder[0] == tenant_id(tenant) and one.is_running(world.cluster.now_ms)
            )
            for tenant in range(3)
        }
        held = {tenant: node.held if (node := pool.shares.tenant(tenant)) else 0 for tenant in booked}
        leaving = [run for run in world.cluster.runs.values() if run.preempted and not run.is_ended]
        free = pool.capacity.free + sum(run.slots for run in leaving)
        for grant in before.grants:
            slots = sum(count for _, count in grant.placement)
            whose = world.cluster.trials[grant.trial].request.tenant
            held[whose] += slots
            free -= slots
            owing = sum(max(0, booked[other] - held[other]) for other in booked if other != whose)
            is_own = held[whose] <= booked[whose]
            assert is_own or free >= owing or exclusive, "somebody got what another had booked"
        step(world)

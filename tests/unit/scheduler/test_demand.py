"""What a plan says of machines that are wanted."""

from dataclasses import replace

from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World


def test_nothing_is_asked_for_what_can_never_fit() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1, 8)
    world.want(2, 4, single_node=True, experiment=2)
    world.want(3, 4, experiment=3)
    before = world.plan().demand[POOL]
    assert (before.waiting, before.largest_single_node) == (8 + 4 + 4 - 2, 4)
    world.cluster.put_pool(replace(world.policy, max_slots=4, max_slots_per_worker=2))
    after = world.plan().demand[POOL]
    assert (after.waiting, after.largest_single_node) == (4 - 2, 0), "the third alone"
    assert world.plan().demand[POOL] == after, "the plan has left the world as it was"
    world.cluster.put_pool(replace(world.policy, max_slots=16, max_slots_per_worker=4))
    again = world.plan().demand[POOL]
    assert (again.waiting, again.largest_single_node) == (before.waiting, before.largest_single_node)


def test_what_a_limit_stops_shapes_nobodys_machines() -> None:
    world = World()
    world.want(1, 8, single_node=True, tenant=1)
    world.want(2, 2, single_node=True, tenant=2, experiment=2)
    assert world.plan().demand[POOL].single_node == ((8, 1), (2, 1))
    world.quota(1, maximum=4)
    stopped = world.plan().demand[POOL]
    assert (stopped.single_node, stopped.largest_single_node) == (((2, 1),), 2)
    world.quota(1, maximum=8)
    assert world.plan().demand[POOL].largest_single_node == 8
    world.worker("a", 8)
    assert world.plan().demand[POOL].single_node == ((2, 1),)
    world.worker("b", 8)
    world.want(3, 8, single_node=True, tenant=3, experiment=3)
    assert world.plan().demand[POOL].single_node == ((8, 1),), "what is granted waits no more"


def test_what_may_be_idle_soon_is_told() -> None:
    world = World(plain(POOL, preemption=True, max_slots=6))
    world.worker("a", 2)
    world.worker("b", 2)
    world.want(1, 2)
    world.cycle()
    assert (world.plan().demand[POOL].idle, world.plan().demand[POOL].expected) == (2, 2 + 2)
    world.set_policy(2, priority=1)
    world.want(2, 4, experiment=2)
    world.cycle()
    assert world.run(1).preempted
    assert (world.plan().demand[POOL].idle, world.plan().demand[POOL].expected) == (2, 2 + 2 + 2)


def test_demand_is_what_could_be_used_beyond_what_stands() -> None:
    world = World()
    world.worker("a", 2)
    world.set_policy(1, max_slots=3)
    for number in range(1, 6):
        world.want(number, experiment=1)
    world.want(9, 2, experiment=2)
    demand = world.plan().demand[POOL]
    assert (demand.waiting, demand.used, demand.idle) == (1 + 2, 2, 0)

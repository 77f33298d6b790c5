"""Single slots that take no more work: what runs there ends by itself, and nobody counts on them."""

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers import draining
from shared.ids import WorkerId
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World


def world(slots: int = 2, **policy: object) -> World:
    found = World(plain(POOL, **policy))
    found.worker("a", slots)
    return found


def disable(found: World, slot: int, undo: bool = False) -> None:
    found.cluster.apply(draining.on_slot(found.cluster, WorkerId("a"), slot, undo))


def slots_of(found: World, number: int) -> tuple[int, ...]:
    return tuple(slot for share in found.run(number).shares for slot in share.slot_ids)


def test_a_disabled_slot_is_not_granted_until_it_is_enabled() -> None:
    found = world()
    disable(found, 0)
    found.want(1)
    found.want(2)
    found.cycle()
    assert found.running() == {1} and slots_of(found, 1) == (1,)
    assert found.cluster.pools[POOL].capacity.total == 1
    disable(found, 0, undo=True)
    found.cycle()
    assert slots_of(found, 2) == (0,)


def test_what_runs_there_goes_on_and_its_slot_is_not_given_again() -> None:
    found = world()
    for number in (1, 2):
        found.want(number)
    found.cycle()
    disable(found, 0)
    found.want(3)
    found.cycle()
    assert found.running() == {1, 2} and not found.run(1).preempted
    found.exit(1)
    found.cycle()
    assert found.running() == {2}
    found.exit(2)
    found.cycle()
    assert slots_of(found, 3) == (1,)


def test_nobody_is_asked_for_a_slot_that_is_disabled() -> None:
    found = world(preemption=True)
    for number in (1, 2):
        found.set_policy(number, priority=60 - number)
        found.want(number, experiment=number)
    found.cycle()
    (slot,) = slots_of(found, 1)
    disable(found, slot)
    found.set_policy(3, priority=10)
    found.want(3, experiment=3)
    found.cycle()
    assert found.run(2).preempted and not found.run(1).preempted, "the less important one would free nothing"


def test_a_request_for_all_slots_waits_while_one_is_disabled() -> None:
    found = world(4, preemption=True)
    disable(found, 3)
    found.want(1, 4)
    found.cycle()
    assert not found.running()
    found.cluster.apply(draining.on_slot(found.cluster, WorkerId("unknown"), 0, undo=False))


def test_a_worker_whose_disk_is_full_gets_nothing_until_it_has_room() -> None:
    world, full = World(), "the disk of worker a is full: free space under /w"
    world.worker("a", 2)
    world.want(1)
    world.cycle()
    world.worker("a", 2, trouble=full, allocations=world.observed("a"))
    world.want(2)
    world.cycle()
    assert world.running() == {1}, "what runs there goes on"
    told = explain(world.cluster, world.trial(2))
    assert told.message.endswith(f"; 2 more slots on workers that cannot start runs: {full}")
    world.worker("a", 2, allocations=world.observed("a"))
    world.cycle()
    assert world.running() == {1, 2}

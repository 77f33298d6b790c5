"""Parts of slots: runs of one tenant share one; what is free, asked for and counted, case by case. Neighbour: `test_parts_properties`."""

from collections import Counter
from fractions import Fraction

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.run import RunExit
from shared.ids import WorkerId
from shared.messages.trial_specs import DesiredState, Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, trial_id

HALF = 500
SHARED = plain(POOL, exclusive=False)


def on(world: World, number: int) -> tuple[str, int]:
    """The worker and the slot of a run that has a fraction of one."""
    (share,) = world.run(number).shares
    return str(share.worker), share.slot_ids[0]


def test_two_halves_of_one_tenant_run_on_one_slot_at_the_same_time() -> None:
    world = World()
    world.worker("a", 2)
    for number in (1, 2, 3):
        world.want(number, fraction=HALF)
    world.cycle()
    assert on(world, 1) == on(world, 2) != on(world, 3)
    refresh(world.cluster)
    assert world.cluster.pools[POOL].capacity.free == 0


def test_a_part_joins_the_slot_that_is_left_with_the_least_before_another_is_opened() -> None:
    world = World()
    world.worker("a", 3)
    for number, fraction in enumerate((600, 700, 300, 400), start=1):
        world.want(number, fraction=fraction)
    world.cycle()
    assert on(world, 3) == on(world, 2)
    assert on(world, 4) == on(world, 1)
    refresh(world.cluster)
    assert world.cluster.pools[POOL].capacity.free == 1


def test_tenants_never_share_a_slot_even_where_they_share_a_machine() -> None:
    world = World(SHARED)
    world.worker("a", 2)
    world.want(1, fraction=HALF)
    world.want(2, fraction=HALF, tenant=1, experiment=1)
    world.cycle()
    world.want(3, fraction=400)
    world.want(4, fraction=300, tenant=1, experiment=1)
    world.cycle()
    assert (on(world, 4), on(world, 3)) == (on(world, 2), on(world, 1))
    assert on(world, 1) != on(world, 2)
    world.want(5, fraction=HALF, tenant=2, experiment=2)
    world.cycle()
    assert world.running() == {1, 2, 3, 4}
    assert explain(world.cluster, world.trial(5)).message.startswith(
        "waiting for 0.5 slots; 0 of 2 slots free"
    )


def test_a_slot_is_free_again_for_all_when_its_last_part_has_left() -> None:
    world = World(SHARED)
    world.worker("a", 1)
    world.want(1, fraction=300)
    world.want(2, fraction=700)
    world.cycle()
    world.want(3, tenant=1, experiment=1)
    world.exit(1)
    world.cycle()
    assert world.running() == {2}
    world.exit(2)
    world.cycle()
    assert world.running() == {3}


def test_a_part_joins_a_slot_whose_runs_are_all_about_to_leave() -> None:
    world = World(plain(POOL, preemption=True))
    world.worker("a", 1)
    world.want(1, fraction=HALF)
    world.cycle()
    world.want(1, fraction=HALF, desired_state=DesiredState.STOP, version=2)
    world.want(2, fraction=250)
    world.want(3, fraction=HALF)
    world.cycle()
    assert on(world, 2) == ("a", 0) and world.running() == {1, 2}
    world.exit(1)
    world.cycle()
    assert world.running() == {2, 3}


def test_what_a_tenant_may_hold_counts_parts_exactly() -> None:
    world = World()
    world.worker("a", 4)
    world.quota(0, maximum=1)
    for number in (1, 2, 3):
        world.want(number, fraction=400)
    world.want(4, fraction=200)
    world.cycle()
    assert world.running() == {1, 2, 4}
    told = explain(world.cluster, world.trial(3))
    assert told.code == "tenant_quota_reached"
    assert "holds 1 of the 1 slot that" in told.message


def test_half_a_slot_is_used_as_half_a_slot() -> None:
    world = World()
    world.worker("a", 1)
    world.want(1, fraction=HALF)
    world.cycle()
    (usage_entry,) = world.unsaved.usage_entries
    assert usage_entry.slots == Fraction(1, 2)


def test_shares_count_parts_as_parts() -> None:
    """Two whole slots of one tenant weigh as much as four halves of another: the next slot goes by what was served."""
    world = World(plain(POOL, order="fair_share", exclusive=False))
    world.worker("a", 4)
    for number in (1, 2):
        world.want(number)
    for number in (3, 4, 5):
        world.want(number, fraction=HALF, tenant=1, experiment=1)
    world.cycle()
    world.want(6)
    world.want(7, fraction=HALF, tenant=1, experiment=1)
    world.cycle()
    assert 7 in world.running()
    world.exit(3)
    world.exit(4)
    world.exit(5)
    world.exit(7)
    world.want(8, fraction=HALF, tenant=1, experiment=1)
    world.cycle()
    assert world.running() == {1, 2, 6, 8}


def test_runs_that_share_a_slot_are_asked_together_and_none_where_that_frees_nothing() -> None:
    world = World(plain(POOL, preemption=True))
    world.worker("a", 2)
    world.set_policy(0, 50)
    world.set_policy(1, 10)
    world.set_policy(2, 1)
    world.want(1, fraction=HALF)
    world.want(2, fraction=HALF)
    world.want(3, fraction=HALF)
    world.want(4, fraction=HALF, experiment=2)
    world.cycle()
    world.want(5, experiment=1)
    planned = world.plan()
    asked = {signal.run for signal in planned.signals}
    assert on(world, 1) == on(world, 4), "one slot is shared with a run that may not be asked"
    assert asked == {world.run(2).id, world.run(3).id}
    assert planned.refusals[trial_id(5)] == "preempting", "the slot is on its way when both have gone"


def test_for_a_part_no_more_are_asked_than_leave_it_room() -> None:
    world = World(plain(POOL, preemption=True))
    world.worker("a", 1)
    world.set_policy(0, 50)
    world.set_policy(1, 10)
    for number in (1, 2, 3):
        world.want(number, fraction=300)
    world.cycle()
    world.want(4, fraction=600, experiment=1)
    world.cycle()
    asked = [number for number in (1, 2, 3) if world.run(number).preempted]
    assert len(asked) == 2, "100 thousandths are left: two of three make room for 600"
    for number in asked:
        world.exit(number, RunExit(acknowledged=Signal.PREEMPT))
    world.cycle()
    assert 4 in world.running()


def test_machines_are_asked_for_by_whole_slots_of_each_tenant() -> None:
    world = World()
    for number in (1, 2, 3):
        world.want(number, fraction=HALF)
    world.want(4, fraction=300, tenant=1, experiment=1)
    assert world.plan().demand[POOL].waiting == 3


def test_a_part_joins_only_where_its_labels_allow() -> None:
    world = World()
    world.worker("a", 2, labels=(("gpu", "old"),))
    world.worker("b", 2, labels=(("gpu", "new"),))
    world.want(1, fraction=HALF)
    world.cycle()
    assert on(world, 1)[0] == "a"
    world.want(2, fraction=HALF, where=PlacementConstraint(required=(("gpu", "new"),)))
    world.want(3, fraction=HALF, where=PlacementConstraint(excluded=(WorkerId("b"),)))
    world.cycle()
    assert (on(world, 2)[0], on(world, 3)) == ("b", on(world, 1))


def test_nobody_joins_a_slot_that_is_kept_for_the_head_of_the_queue() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1, fraction=HALF)
    world.want(2)
    world.cycle()
    world.want(3, slots=2)
    world.want(4, fraction=HALF)
    world.cycle()
    assert world.running() == {1, 2}
    world.exit(1)
    world.exit(2)
    world.cycle()
    assert world.running() == {3}


def test_a_run_without_slots_goes_where_the_fewest_are() -> None:
    world = World(plain(POOL, auxiliary_per_worker=2))
    world.worker("a")
    world.worker("b")
    for number in range(1, 6):
        world.want(number, 0)
    world.cycle()
    assert Counter(str(world.run(number).chief) for number in range(1, 5)) == {"a": 2, "b": 2}
    assert world.running() == {1, 2, 3, 4}
    world.exit(2)
    world.cycle()
    assert 5 in world.running()

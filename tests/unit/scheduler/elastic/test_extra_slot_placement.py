"""Where the slots lie that are lent to elastic runs."""

from services.scheduler.core.reducers import draining
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import WorkerId
from tests.unit.scheduler.elastic.test_extra_slots import Lender


def test_in_shared_pools_a_run_stays_on_one_machine() -> None:
    world = Lender(exclusive=False)
    world.want_elastic(1, most=8)
    world.train()
    assert world.slots(1) == 4


def test_tenants_of_an_exclusive_pool_never_meet_on_a_machine() -> None:
    world = Lender(machines=4)
    for number in (1, 2):
        world.want(number, needs=SlotNeeds(1, 16), experiment=number, tenant=number)
    world.train()
    assert not world.placement(1).keys() & world.placement(2).keys()
    assert world.slots(1) + world.slots(2) > 4


def test_a_run_grows_only_onto_machines_that_it_may_be_on() -> None:
    world = Lender(machines=0)
    for name, gpu in (("w0", "a100"), ("w1", "h100"), ("w2", "h100")):
        world.worker(name, 4, labels=(("gpu", gpu),))
    where = PlacementConstraint(required=(("gpu", "h100"),))
    world.want(1, needs=SlotNeeds(1, 12, where=where), experiment=1)
    world.train()
    assert world.placement(1) == {"w1": 4, "w2": 4}
    world.want_elastic(2, most=12)
    world.train()
    assert set(world.placement(1)) <= {"w1", "w2"} and world.slots(2) >= 4


def test_a_run_that_outgrows_its_machine_stays_in_its_rack() -> None:
    world = Lender(machines=0, topology=("rack",))
    for name, rack in (("w0", "r1"), ("w1", "r2"), ("w2", "r1"), ("w3", "r2")):
        world.worker(name, 4, labels=(("rack", rack),))
    where = PlacementConstraint(preferred=(("rack", "r2"),))
    world.want(1, needs=SlotNeeds(1, 8, where=where), experiment=1)
    world.want_elastic(2)
    world.train()
    assert world.placement(1) == {"w1": 4, "w3": 4}
    assert world.placement(2) == {"w0": 4, "w2": 4}


def test_a_gang_one_of_whose_machines_takes_nothing_more_goes_on_where_there_is_room() -> None:
    world = Lender(machines=0, topology=("rack",))
    for name, rack in (("w0", "r1"), ("w1", "r1"), ("w2", "r2"), ("w3", "r2")):
        world.worker(name, 4, labels=(("rack", rack),))
    world.want_elastic(1)
    world.train()
    assert world.placement(1) == {"w0": 4, "w1": 4}
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("w0"), reclaim=False, undo=False))
    world.train()
    assert world.placement(1) == {"w0": 4, "w1": 4}, "it ends by itself, as whoever drains was told"
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("w0"), reclaim=True, undo=False))
    world.train()
    assert world.placement(1) == {"w2": 4, "w3": 4}


def test_a_run_stays_on_a_machine_that_takes_nothing_more_and_nobody_is_put_there() -> None:
    world = Lender()
    world.want_elastic(1)
    world.train()
    assert world.placement(1) == {"w0": 4, "w1": 4}
    world.want(2, 4, experiment=2)
    world.settle()
    alone = next(iter(world.placement(1)))
    other = next(iter(world.placement(2)))
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId(alone), reclaim=False, undo=False))
    world.exit(2)
    for number in (3, 4):
        world.want_elastic(number, most=2)
    before = world.run(1).number
    world.train()
    assert world.run(1).number == before and set(world.placement(1)) == {alone}
    assert [world.placement(number) for number in (3, 4)] == [{other: 2}, {other: 2}]

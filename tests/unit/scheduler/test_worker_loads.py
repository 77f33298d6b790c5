"""What the provisioner hears of each worker: whose runs are there, in what pieces, and which of them stand elsewhere too."""

from hypothesis import given, settings, strategies as st

from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.worker_loads import WorkerOccupancy, loads_of_all
from shared.ids import WorkerId
from tests.unit.scheduler.world import World, tenant_id

WORKERS = {"a": 4, "b": 4, "c": 2}
REQUESTS = st.lists(st.tuples(st.integers(0, 1), st.integers(1, 8), st.booleans()), min_size=1, max_size=12)
"""Tenant, slots, and whether they must be on one machine."""


@settings(max_examples=50, deadline=None)
@given(REQUESTS, st.data())
def test_every_run_is_a_piece_of_each_of_its_machines_until_it_has_ended(
    requests: list[tuple[int, int, bool]], data: st.DataObject
) -> None:
    world = World()
    for name, slots in WORKERS.items():
        world.worker(name, slots)
    for number, (tenant, slots, single) in enumerate(requests):
        world.want(number, slots, tenant=tenant, experiment=tenant, single_node=single)
    world.cycle()
    agree(world, requests)
    for number in data.draw(st.lists(st.sampled_from(range(len(requests))), unique=True)):
        if number in world.running():
            world.exit(number)
            world.cycle()
            agree(world, requests)


def agree(world: World, requests: list[tuple[int, int, bool]]) -> None:
    """Holds what is told of the workers against where the trials run."""
    told = loads_of_all(world.cluster)
    assert told.keys() == set(WORKERS)
    places = {number: world.placement(number) for number in world.running()}
    for name, slots in WORKERS.items():
        here = {number: taken[name] for number, taken in places.items() if name in taken}
        carried = told[WorkerId(name)]
        assert sorted(carried.pieces) == sorted(here.values())
        assert carried.used_slots == sum(carried.pieces) <= slots
        assert carried.gangs == sum(len(places[number]) > 1 for number in here)
        assert {carried.tenant} - {None} == {tenant_id(requests[number][0]) for number in here}


def test_runs_that_share_a_slot_are_a_piece_each() -> None:
    world = World()
    world.worker("a", 2)
    for number in (1, 2):
        world.want(number, fraction=500)
    world.cycle()
    assert loads_of_all(world.cluster)[WorkerId("a")] == WorkerOccupancy(1, (1, 1), 0, tenant_id(0))


def test_what_is_left_of_a_run_that_lost_a_machine_is_nothing_to_be_moved() -> None:
    world = World()
    for name in ("a", "b"):
        world.worker(name, 2)
    world.want(1, 4)
    world.cycle()
    world.silence("a")
    assert loads_of_all(world.cluster)[WorkerId("b")] == WorkerOccupancy(2, (), 0, tenant_id(0))


def test_a_machine_that_is_gone_is_not_spoken_of() -> None:
    world = World()
    for name in ("a", "b"):
        world.worker(name)
    world.cluster.apply(on_removed(world.cluster, WorkerId("a"), world.now))
    assert list(loads_of_all(world.cluster)) == [WorkerId("b")]

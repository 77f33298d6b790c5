"""The one whose turn it is has machines reserved: others may pass it, and never delay it."""

from random import Random
from typing import Any

from hypothesis import given, settings, strategies as st

from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World

SIZES = {"a": 2, "b": 2, "c": 4, "d": 1}
PARTS = (250, 500)
"""In the lists below these are no numbers of slots, but thousandths of one."""


def want(world: World, number: int, slots: int, **more: Any) -> None:
    asked: dict[str, Any] = {"fraction": slots} if slots in PARTS else {"slots": slots}
    world.want(number, **asked, **more)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 3) | st.sampled_from(PARTS), min_size=3, max_size=8),
    st.integers(2, 9) | st.sampled_from(PARTS),
    st.booleans(),
    st.sampled_from(["fifo", "priority", "fair_share"]),
    st.lists(
        st.tuples(st.integers(1, 4) | st.sampled_from(PARTS), st.integers(0, 2), st.sampled_from([0, 3, 11])),
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_it_starts_at_the_latest_when_what_ran_on_its_machines_has_ended(
    running: list[int],
    head: int,
    single_node: bool,
    order: str,
    behind: list[tuple[int, int, int]],
    random: Random,
) -> None:
    """Whoever comes behind it, in whichever order the runs on its machines end, and whatever else goes on elsewhere."""
    world = World(plain(POOL, order=order))
    for name, slots in SIZES.items():
        world.worker(name, slots)
    for number, slots in enumerate(running, start=1):
        want(world, number, slots, tenant=1, experiment=1)
    world.cycle()
    want(world, 100, min(head, 4) if single_node and head not in PARTS else head, single_node=single_node)
    world.cycle()
    reserved = world.cluster.pools[POOL].reserved
    if reserved is None or reserved.trial != world.trial(100).id:
        return
    in_the_way = [n for n in world.running() if world.run(n).workers & set(reserved.workers)]
    random.shuffle(in_the_way)
    arrivals = iter(enumerate(behind, start=200))
    for number in in_the_way:
        for _ in range(3):
            other, (slots, tenant, seconds) = next(arrivals, (0, (0, 0, 0)))
            if other:
                want(world, other, slots, tenant=tenant, experiment=tenant)
                world.wait(seconds)
            world.cycle()
        elsewhere = sorted(world.running() - set(in_the_way) - {100})
        if elsewhere and random.random() < 0.5:
            world.exit(random.choice(elsewhere))
            world.cycle()
        if number in world.running():
            world.exit(number)
        world.cycle()
    assert 100 in world.running()


def test_the_reservation_does_not_wander() -> None:
    """Were it moved to whichever machine is emptiest now, the one that it left would be filled, and so on for ever."""
    world = World()
    world.worker("a", 3)
    world.worker("b", 3)
    world.want(1, 2)
    world.cycle()
    for number in (2, 3, 4):
        world.want(number)
        world.cycle()
    world.want(5)
    world.cycle()
    assert [world.placement(n) for n in (1, 2, 3, 4, 5)] == [{"a": 2}, {"a": 1}, {"b": 1}, {"b": 1}, {"b": 1}]
    world.exit(2)
    world.want(100, 3, single_node=True)
    world.cycle()
    reserved = world.cluster.pools[POOL].reserved
    assert reserved is not None and reserved.workers == ("a",)
    world.exit(3)
    world.exit(4)
    for number in (6, 7, 8):
        world.want(number)
        world.cycle()
    assert world.running() == {1, 5, 6, 7}, "only the other machine is filled"
    world.exit(1)
    world.cycle()
    assert 100 in world.running()

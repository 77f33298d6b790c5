"""What can never be placed is told from what only has to wait."""

import pytest

from services.scheduler.core.planning.max_capacity import ReachableSlots, reach_of
from services.scheduler.core.reducers import draining
from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.trial import SlotNeeds
from shared.ids import WorkerId
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id

R7, R8 = PlacementConstraint((("rack", "r7"),)), PlacementConstraint((("rack", "r8"),))
PROVIDED = {"max_slots": 8, "max_slots_per_worker": 2}


@pytest.mark.parametrize(
    ("policy", "needs", "reach"),
    [
        ({}, SlotNeeds(1, 1), ReachableSlots(6, "in total", is_final=False)),
        ({}, SlotNeeds(1, 1, single_node=True), ReachableSlots(4, "on one machine", is_final=False)),
        ({"exclusive": False}, SlotNeeds(1, 1), ReachableSlots(4, "on one machine", is_final=False)),
        (PROVIDED, SlotNeeds(1, 1), ReachableSlots(8, "in total", is_final=True)),
        (PROVIDED, SlotNeeds(1, 1, single_node=True), ReachableSlots(4, "on one machine", is_final=True)),
        ({**PROVIDED, "max_slots": 1}, SlotNeeds(1, 1), ReachableSlots(6, "in total", is_final=True)),
        ({"kind": "cpu"}, SlotNeeds(1, 1, "cuda"), ReachableSlots(0, "of kind cuda", is_final=True)),
        (
            {**PROVIDED, "provided_kind": "cpu"},
            SlotNeeds(1, 1, "cuda"),
            ReachableSlots(0, "of kind cuda", is_final=True),
        ),
        (
            {**PROVIDED, "provided_kind": "cpu"},
            SlotNeeds(1, 1, "cpu"),
            ReachableSlots(8, "in total", is_final=True),
        ),
        ({}, SlotNeeds(1, 1, "cuda"), ReachableSlots(0, "in total", is_final=False)),
        ({}, SlotNeeds(1, 1, where=R7), ReachableSlots(4, "on machines with rack=r7", is_final=False)),
        (
            {},
            SlotNeeds(1, 1, single_node=True, where=R7),
            ReachableSlots(4, "on one machine with rack=r7", is_final=False),
        ),
        ({}, SlotNeeds(1, 1, where=R8), ReachableSlots(0, "on machines with rack=r8", is_final=True)),
        (PROVIDED, SlotNeeds(1, 1, where=R7), ReachableSlots(4, "on machines with rack=r7", is_final=True)),
        (
            {**PROVIDED, "provided_labels": R8.required},
            SlotNeeds(1, 1, where=R8),
            ReachableSlots(8, "in total", is_final=True),
        ),
        (
            {},
            SlotNeeds(1, 1, where=PlacementConstraint(excluded=(WorkerId("a"),))),
            ReachableSlots(2, "in total", is_final=False),
        ),
    ],
)
def test_the_most_that_a_pool_can_ever_have(
    policy: dict[str, object], needs: SlotNeeds, reach: ReachableSlots
) -> None:
    world = World(plain(POOL, **policy))
    world.worker("a", 4, labels=R7.required)
    world.worker("b", 2)
    pool = world.cluster.pools[POOL]
    workers = world.cluster.workers.values()
    assert reach_of(pool.capacity, pool.policy, workers, tenant_id(), needs) == reach


def test_labels_of_a_drained_machine_are_known_and_those_of_one_that_is_gone_are_not() -> None:
    world = World()
    world.worker("a", 4, labels=R7.required)
    world.worker("b", 2)
    pool, workers = world.cluster.pools[POOL], world.cluster.workers
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=False))
    refresh(world.cluster)
    assert not reach_of(
        pool.capacity, pool.policy, workers.values(), tenant_id(), SlotNeeds(where=R7)
    ).is_final
    world.cluster.apply(on_removed(world.cluster, WorkerId("a"), world.now))
    assert reach_of(pool.capacity, pool.policy, workers.values(), tenant_id(), SlotNeeds(where=R7)).is_final

"""What can never be placed is told from what only has to wait."""

import pytest

from services.scheduler.core.planning.fit import Reach, reach_of
from services.scheduler.core.reducers import draining
from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.records.labels import Where
from services.scheduler.core.state.records.trial import Needs
from services.scheduler.core.state.seeing import refresh
from shared.ids import WorkerId
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id

R7, R8 = Where((("rack", "r7"),)), Where((("rack", "r8"),))
PROVIDED = {"max_slots": 8, "max_slots_per_worker": 2}


@pytest.mark.parametrize(
    ("policy", "needs", "reach"),
    [
        ({}, Needs(1, 1), Reach(6, "in all", is_final=False)),
        ({}, Needs(1, 1, single_node=True), Reach(4, "on one machine", is_final=False)),
        ({"exclusive": False}, Needs(1, 1), Reach(4, "on one machine", is_final=False)),
        (PROVIDED, Needs(1, 1), Reach(8, "in all", is_final=True)),
        (PROVIDED, Needs(1, 1, single_node=True), Reach(4, "on one machine", is_final=True)),
        ({**PROVIDED, "max_slots": 1}, Needs(1, 1), Reach(6, "in all", is_final=True)),
        ({"kind": "cpu"}, Needs(1, 1, "cuda"), Reach(0, "of kind cuda", is_final=True)),
        ({**PROVIDED, "provided_kind": "cpu"}, Needs(1, 1, "cuda"), Reach(0, "of kind cuda", is_final=True)),
        ({**PROVIDED, "provided_kind": "cpu"}, Needs(1, 1, "cpu"), Reach(8, "in all", is_final=True)),
        ({}, Needs(1, 1, "cuda"), Reach(0, "in all", is_final=False)),
        ({}, Needs(1, 1, where=R7), Reach(4, "on machines with rack=r7", is_final=False)),
        (
            {},
            Needs(1, 1, single_node=True, where=R7),
            Reach(4, "on one machine with rack=r7", is_final=False),
        ),
        ({}, Needs(1, 1, where=R8), Reach(0, "on machines with rack=r8", is_final=True)),
        (PROVIDED, Needs(1, 1, where=R7), Reach(4, "on machines with rack=r7", is_final=True)),
        (
            {**PROVIDED, "provided_labels": R8.required},
            Needs(1, 1, where=R8),
            Reach(8, "in all", is_final=True),
        ),
        ({}, Needs(1, 1, where=Where(excluded=(WorkerId("a"),))), Reach(2, "in all", is_final=False)),
    ],
)
def test_the_most_that_a_pool_can_ever_have(policy: dict[str, object], needs: Needs, reach: Reach) -> None:
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
    assert not reach_of(pool.capacity, pool.policy, workers.values(), tenant_id(), Needs(where=R7)).is_final
    world.cluster.apply(on_removed(world.cluster, WorkerId("a"), world.now))
    assert reach_of(pool.capacity, pool.policy, workers.values(), tenant_id(), Needs(where=R7)).is_final

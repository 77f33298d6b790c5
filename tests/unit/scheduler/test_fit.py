"""What can never be placed is told from what only has to wait."""

import pytest

from services.scheduler.core.fit import Reach, reach_of
from services.scheduler.core.pool import PoolPolicy
from services.scheduler.core.trial import Needs
from tests.unit.scheduler.world import POOL, World, tenant_id

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
    ],
)
def test_the_most_that_a_pool_can_ever_have(policy: dict[str, object], needs: Needs, reach: Reach) -> None:
    world = World(PoolPolicy(POOL, **policy))  # type: ignore[arg-type]
    world.worker("a", 4)
    world.worker("b", 2)
    pool = world.cluster.pools[POOL]
    assert reach_of(pool.capacity, pool.policy, tenant_id(), needs) == reach

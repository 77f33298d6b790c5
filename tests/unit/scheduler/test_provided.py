"""Pools whose machines a provider brings: what keeps it from that is told to who waits, and what it gives up goes once it is empty."""

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers import draining
from services.scheduler.core.state.indexes.pool import open_pools
from services.scheduler.queries.validating import validate_placement
from shared.errors import Rejected
from shared.ids import WorkerId
from shared.messages.queue import ValidatePlacement
from shared.messages.trial_specs import DesiredState
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id


def test_who_waits_for_machines_that_do_not_come_is_told_why() -> None:
    world = World(plain(POOL, max_slots=4, provider_fault="g5 in a: quota: 0 of 8"))
    world.want(1)
    assert world.cycle() == []
    told = explain(world.cluster, world.trial(1))
    assert "the provider cannot add machines: g5 in a: quota: 0 of 8" in told.message
    assert told.facts["provider_fault"] == "g5 in a: quota: 0 of 8"


def test_a_pool_that_its_provider_gives_up_is_there_until_nothing_stands_runs_or_waits_in_it() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.want(2)
    world.cluster.put_pool(plain(POOL, is_closing=True, max_slots=0))
    assert POOL in open_pools(world.cluster.pools)
    question = ValidatePlacement(pool=POOL, min_slots=2, max_slots=2)
    with pytest.raises(Rejected, match="is closing") as refused:
        validate_placement(world.cluster, tenant_id(), question)
    assert refused.value.code == "pool_closing"
    world.cluster.apply(draining.on_drain(world.cluster, WorkerId("a"), reclaim=False, undo=False))
    world.exit(1)
    world.worker("a")
    assert POOL in open_pools(world.cluster.pools), "somebody waits"
    world.want(2, desired_state=DesiredState.KILL, version=2)
    world.cycle()
    assert POOL not in open_pools(world.cluster.pools)
    world.cluster.put_pool(plain(POOL))
    assert POOL in open_pools(world.cluster.pools)

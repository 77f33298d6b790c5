"""Queue and slots of the pools in the metrics, while a leader leads and no longer."""

from prometheus_client import REGISTRY

from services.scheduler.metrics import pool_metrics
from tests.unit.scheduler.world import World


def test_queue_and_slots_of_pools_are_shown_as_they_are_now_while_a_leader_leads() -> None:
    world = World()
    world.worker("a", slots=3)
    world.want(1, slots=2)
    with pool_metrics(world.cluster.pools):
        assert (_queue(), _slots("used"), _slots("free")) == (1, 0, 3)
        world.cycle()
        world.want(2, slots=2)
        assert (_queue(), _slots("used"), _slots("free")) == (1, 2, 1)
    assert (_queue(), _slots("used")) == (None, None), "a stand-by knows of no pools"


def _queue() -> float | None:
    return REGISTRY.get_sample_value("muster_scheduler_queue_length", {"pool": "default"})


def _slots(state: str) -> float | None:
    return REGISTRY.get_sample_value("muster_scheduler_slots", {"pool": "default", "state": state})

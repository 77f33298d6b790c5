"""Searches that have begun, as the tests of their lives take them."""

from uuid import UUID

from services.searcher.core.experiment.entities import TrialCheckpoint
from shared.ids import CheckpointId
from tests.unit.searcher.world import World, config

RANDOM: dict[str, object] = {"name": "random", "max_trials": 4, "max_concurrent_trials": 2}
CHECKPOINT = TrialCheckpoint(CheckpointId(UUID(int=3)), run=1, step=2)


def started(searcher: dict[str, object]) -> World:
    world = World(config(searcher))
    world.begin()
    return world

"""Reducers leave the world as it is: what they return is all that an event changes."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from services.scheduler.core.reducers import draining, requests, run_completion
from services.scheduler.core.reducers.workers import on_heartbeat, on_removed, on_worker_lost
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.observed import ObservedState
from services.scheduler.core.state.published_events import Ended, WorkerDown
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.run_states import RunState
from services.scheduler.core.state.records.trial import RequestState
from shared.ids import WorkerId
from tests.unit.scheduler.world import World, trial_id

A = WorkerId("a")
Reducer = Callable[[World], Changes]


def running() -> World:
    """A gang over both workers."""
    world = World()
    for name in ("a", "b"):
        world.worker(name)
    world.want(1, slots=2)
    world.cycle()
    for name in ("a", "b"):
        world.worker(name)
    world.cluster.take_unsaved()
    return world


EVENTS: dict[str, Reducer] = {
    "worker lost": lambda world: on_worker_lost(world.cluster, A, "silent", world.now),
    "removed": lambda world: on_removed(world.cluster, A, world.now),
    "drain": lambda world: draining.on_drain(world.cluster, A, reclaim=True, undo=False),
    "exit": lambda world: run_completion.on_exit(
        world.cluster, world.run(1), A, RunExit(exit_code=1), world.now
    ),
    "settled": lambda world: requests.on_settled(world.cluster, world.run(1).id, world.now),
    "unnamed": lambda world: on_heartbeat(
        world.cluster, ObservedState(A, world.policy.name, "cpu", (0,)), world.now
    ),
}


def seen(world: World) -> dict[str, Any]:
    cluster = world.cluster
    return deepcopy(
        {
            "records": (cluster.runs, cluster.trials, cluster.workers),
            "places": (cluster.runs_on, cluster.ending, cluster.forming, cluster.awaiting),
            "unsaved": cluster.unsaved,
        }
    )


@pytest.mark.parametrize("reduce", EVENTS.values(), ids=EVENTS.keys())
def test_the_world_changes_when_the_changes_are_applied_and_not_before(reduce: Reducer) -> None:
    world = running()
    before = seen(world)
    changes = reduce(world)
    assert seen(world) == before
    world.cluster.apply(changes)
    assert seen(world) != before


def test_a_lost_worker_ends_its_run_and_sends_its_request_back_to_the_queue() -> None:
    world = running()
    changes = on_worker_lost(world.cluster, A, "silent", world.now)
    (run,), (trial,) = changes.runs.values(), changes.trials.values()
    assert run.state is RunState.ENDED and run.gang.released == {A}
    assert (trial.id, trial.state) == (trial_id(1), RequestState.QUEUED)
    assert [type(fact) for fact in changes.facts] == [WorkerDown, Ended]
    assert set(changes.desired) == {"a", "b"}, "the other member must end its part"


def test_a_draining_worker_that_no_longer_knows_its_last_run_is_drained_by_the_same_heartbeat() -> None:
    world = running()
    world.cluster.apply(draining.on_drain(world.cluster, A, reclaim=False, undo=False))
    changes = on_heartbeat(world.cluster, ObservedState(A, world.policy.name, "cpu", (0,)), world.now)
    assert changes.workers[A].drain == "drained"

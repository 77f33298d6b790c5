"""What the searcher does by the clock."""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import asyncpg

from shared.ids import ExperimentId, RunId
from shared.messages.checkpoints import UploadsDelayed
from tests.integration.searcher.neighbours import (
    Neighbours,
    closed,
    run_ended,
    run_granted,
    searcher,
    validation,
)
from tests.integration.searcher.searches import document, requests
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually


async def test_a_trial_whose_machine_died_after_its_exit_is_given_up_with_the_reason(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    hurried = {"MUSTER_SEARCHER__SETTLE_AFTER_S": "0.5", "MUSTER_SEARCHER__SETTLE_EVERY_S": "0.2"}
    async with searcher(settings("searcher") | hurried):
        experiment = await neighbours.submit(document({"name": "random", "max_trials": 1}))
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await neighbours.publish(run_ended(granted, 7))
        await neighbours.publish(closed(request, "completed"))
        over = await neighbours.wait_state(experiment, "completed")
        assert over.best is not None
        await eventually(lambda: neighbours.received.trials(experiment)[1].final)
        trial = neighbours.received.trials(experiment)[1]
        assert trial.state == "completed"
        assert "stored" in (trial.reason or "")


async def test_a_checkpoint_on_its_way_is_waited_for_beyond_that_and_its_delay_is_told(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    hurried = {"MUSTER_SEARCHER__SETTLE_AFTER_S": "0.5", "MUSTER_SEARCHER__SETTLE_EVERY_S": "0.2"}
    async with searcher(settings("searcher") | hurried):
        experiment = await neighbours.submit(document({"name": "random", "max_trials": 1}))
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        ended = run_ended(granted, 1)
        await neighbours.publish(ended.model_copy(update={"checkpoints": 1}))
        await neighbours.publish(closed(request, "completed"))
        delay = UploadsDelayed(
            run_id=granted.run_id,
            trial_id=request.trial_id,
            experiment_id=experiment,
            run_number=1,
            pending=1,
            reason="the object store does not respond",
        )
        await neighbours.publish(delay)

        def published() -> tuple[bool, str, str | None]:
            found = neighbours.received.trials(experiment)[1]
            return found.finishing, found.state, found.reason

        await eventually(lambda: published() == (True, "stopping", delay.reason))
        # Other trials are given up meanwhile, after the same time.
        other = await neighbours.submit(document({"name": "random", "max_trials": 1}))
        next_wish = (await requests(neighbours, other, 1))[0]
        lost = run_granted(next_wish, RunId(uuid4()))
        await neighbours.publish(lost)
        await neighbours.publish(run_ended(lost, 7))
        await neighbours.publish(closed(next_wish, "completed"))
        await eventually(lambda: neighbours.received.trials(other)[1].final)
        assert published() == (True, "stopping", delay.reason)


async def test_an_experiment_that_is_held_whenever_somebody_looks_is_told_all_the_same(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]], postgres: TestDatabase
) -> None:
    hurried = {"MUSTER_SEARCHER__ANNOUNCE_EVERY_S": "0.1"}
    async with searcher(settings("searcher") | hurried), asyncio.TaskGroup() as tasks:
        experiment = await neighbours.submit(document({"name": "random", "max_trials": 2}))
        request = (await requests(neighbours, experiment, 2))[0]
        granted = run_granted(request, RunId(uuid4()))
        await neighbours.publish(granted)
        # As results of hundreds of trials do: who lets go of the experiment hands it to the next.
        holding = [tasks.create_task(_hold(postgres, experiment)) for _ in range(3)]
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await eventually(lambda: _has_best(neighbours, experiment))
        for one in holding:
            one.cancel()


def _has_best(neighbours: Neighbours, experiment: ExperimentId) -> bool:
    published = neighbours.received.experiment(experiment)
    return published is not None and published.best is not None


async def _hold(postgres: TestDatabase, experiment: ExperimentId) -> None:
    connection = await asyncpg.connect(postgres.urls["searcher"].system)
    try:
        while True:
            async with connection.transaction():
                await connection.fetch("SELECT FROM searcher.experiment WHERE id = $1 FOR UPDATE", experiment)
                await asyncio.sleep(0.05)
    finally:
        await connection.close()

"""Killing trials and experiments by commands: what has no run is final by the searcher alone, whatever the scheduler does."""

from typing import Any
from uuid import uuid4

import pytest

from shared.ids import ExperimentId, RunId
from shared.messages.base import Command
from shared.messages.experiments import CancelExperiment, KillExperiment, KillTrial, PauseExperiment
from shared.messages.trial_specs import DesiredState
from tests.integration.searcher.neighbours import Neighbours, closed, run_ended, run_granted
from tests.integration.searcher.searches import RANDOM, agree_with_the_rule, document, refusals, requests
from tests.support.waiting import eventually


async def order(neighbours: Neighbours, command: type[Command], **more: Any) -> Any:
    operation = uuid4()
    await neighbours.publish(command.model_validate({"operation_id": operation, **more}))
    return operation


async def until(neighbours: Neighbours, experiment: ExperimentId, number: int, state: str) -> None:
    await eventually(lambda: neighbours.received.trials(experiment)[number].state == state)


@pytest.mark.parametrize("command", [KillExperiment, CancelExperiment])
@pytest.mark.parametrize("is_paused", [False, True], ids=["queued", "pausing"])
async def test_an_experiment_without_runs_is_final_though_no_scheduler_answers(
    service: object, neighbours: Neighbours, command: type[Command], is_paused: bool
) -> None:
    experiment = await neighbours.submit(document(RANDOM))
    await requests(neighbours, experiment, 2)
    if is_paused:
        await order(neighbours, PauseExperiment, experiment_id=experiment)
        await neighbours.wait_state(experiment, "paused")
    await order(neighbours, command, experiment_id=experiment)
    over = await neighbours.wait_state(experiment, "cancelled")
    assert (over.final, over.trials.cancelled) == (True, 2)
    wanted = DesiredState.KILL if command is KillExperiment else DesiredState.CANCEL
    await eventually(
        lambda: {w.desired_state for w in neighbours.received.requests(experiment).values()} == {wanted}
    )
    await eventually(lambda: all(trial.final for trial in neighbours.received.trials(experiment).values()))


async def test_a_killed_trial_ends_and_its_search_goes_on(service: object, neighbours: Neighbours) -> None:
    experiment = await neighbours.submit(document(RANDOM))
    queued, running = await requests(neighbours, experiment, 2)
    granted = run_granted(running, RunId(uuid4()))
    await neighbours.publish(granted)
    await until(neighbours, experiment, 2, "running")

    await order(neighbours, KillTrial, experiment_id=experiment, trial_number=1)
    await until(neighbours, experiment, 1, "cancelled")
    assert neighbours.received.trials(experiment)[1].reason == "killed by a user"
    await requests(neighbours, experiment, 3)

    await order(neighbours, KillTrial, experiment_id=experiment, trial_number=2)
    await until(neighbours, experiment, 2, "stopping")
    await neighbours.publish(run_ended(granted, 0, outcome="killed"))
    await neighbours.publish(closed(running, "killed"))
    await until(neighbours, experiment, 2, "cancelled")
    published = neighbours.received.experiment(experiment)
    assert published and published.state == "active"

    refused = await order(neighbours, KillTrial, experiment_id=experiment, trial_number=1)
    unknown = await order(neighbours, KillTrial, experiment_id=experiment, trial_number=99)
    await eventually(lambda: refusals(neighbours, refused) and refusals(neighbours, unknown))
    assert refusals(neighbours, refused)[0].code == "trial_is_cancelled"
    assert refusals(neighbours, unknown)[0].code == "not_found"

    await order(neighbours, KillTrial, experiment_id=experiment, trial_number=3)
    over = await neighbours.wait_state(experiment, "cancelled")
    assert (over.trials.cancelled, over.trials.planned) == (3, 3)
    await neighbours.publish(closed(queued, "killed", runs=0))
    await agree_with_the_rule(neighbours, experiment, document(RANDOM))

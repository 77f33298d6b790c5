"""Trials that start from the checkpoints of others, by a searcher over real NATS and Postgres; it is killed in between."""

import asyncio
import math
from collections.abc import Callable
from typing import Any

import pytest

from shared.ids import CheckpointId
from shared.messages.experiments import ExperimentChanged, GetReferences, TrialRequested
from shared.messages.queue import RequestOutcome
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.searcher.searches import agree_with_the_rule, count_wishes, document
from tests.integration.searcher.training import Patient, Train
from tests.support.waiting import TIMEOUT_S, eventually

PBT: dict[str, Any] = {
    "name": "pbt",
    "population_size": 4,
    "max_concurrent_trials": 2,
    "max_time": 12,
    "interval": 3,
    "truncate_fraction": 0.5,
    "time_metric": "step",
}
AT_THE_ENDS = (1e-4, 1e-1)
"""What is perturbed beyond the space stays at its end."""


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 2 / step


async def check_copies(neighbours: Neighbours, train: Train, over: ExperimentChanged) -> None:
    """Each copy started from a stored checkpoint of its source, as it is told of and was wanted."""
    experiment = train.experiment
    await eventually(lambda: all(one.final for one in neighbours.received.trials(experiment).values()))
    trials = neighbours.received.trials(experiment)
    by_id = {trial.trial_id: trial for trial in trials.values()}
    copies = [trial for trial in trials.values() if trial.source is not None]
    assert copies, "of four that differ, one gave way"
    assert over.trials.planned == len(trials) == 4 + len(copies)
    for copy in copies:
        request = neighbours.received.requests(experiment)[copy.trial_id]
        assert request.spec.start_checkpoint == copy.start_checkpoint
        assert CheckpointId(copy.start_checkpoint or request.trial_id) in train.steps
        own = [step for trial, step in train.own if by_id[trial].number == copy.source]
        assert train.steps[CheckpointId(copy.start_checkpoint or request.trial_id)] in own
        changed = copy.hyperparameters != trials[copy.source or 0].hyperparameters
        assert changed or copy.hyperparameters["lr"] in AT_THE_ENDS


@pytest.mark.parametrize("repeat", [False, True], ids=["once", "every message twice"])
async def test_a_population_shares_what_its_best_have_learned(
    repeat: bool, neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    config = document(PBT)
    async with searcher(settings("searcher")):
        experiment = await neighbours.submit(config)
        train = Train(neighbours, experiment, loss, repeat=repeat, saves_every=1)
        over = await train.until_over()
        assert over.state == "completed" and train.most_running <= 2
        await check_copies(neighbours, train, over)
        await agree_with_the_rule(neighbours, experiment, config)


@pytest.mark.parametrize("point", ["unit.before_commit:20", "unit.after_commit:25", "consumer.before_ack:30"])
async def test_a_population_goes_on_after_a_crash(
    point: str, neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    config = document(PBT)
    async with searcher(settings("searcher"), f"{point}:kill") as first:
        experiment = await neighbours.submit(config)
        train = Patient(neighbours, experiment, loss, saves_every=1)
        ends = asyncio.create_task(train.until_over())
        await asyncio.wait_for(first.wait(), TIMEOUT_S)
        async with searcher(settings("searcher")):
            over = await ends
            assert over.state == "completed"
            await neighbours.wait_answering()
            await check_copies(neighbours, train, over)
            await count_wishes(neighbours, experiment)
            await agree_with_the_rule(neighbours, experiment, config)


class Asking(Train):
    """Asks of each copy, while it lives, whether what it starts from is referenced."""

    asked = 0

    async def _run(self, request: TrialRequested) -> RequestOutcome:
        if request.spec.start_checkpoint is not None:
            self.asked += 1
            start = CheckpointId(request.spec.start_checkpoint)
            found = await self.neighbours.bus.ask(GetReferences(checkpoints=(start,)), self.neighbours.tenant)
            assert found.checkpoints == {start}
        return await super()._run(request)


async def test_what_a_copy_starts_from_is_referenced_while_it_lives(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    async with searcher(settings("searcher")):
        experiment = await neighbours.submit(document(PBT))
        await neighbours.wait_answering()
        train = Asking(neighbours, experiment, loss, saves_every=1)
        await train.until_over()
        assert train.asked
        await eventually(lambda: all(one.final for one in neighbours.received.trials(experiment).values()))
        asked = GetReferences(checkpoints=tuple(train.steps))
        assert (await neighbours.bus.ask(asked, neighbours.tenant)).checkpoints == frozenset()

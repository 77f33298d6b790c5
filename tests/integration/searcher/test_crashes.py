"""The searcher is killed at every point of its delivery and continued by another; effects are counted."""

import asyncio
import math
from collections.abc import Callable

import pytest

from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.searcher.searches import ASHA, agree_with_the_rule, count_wishes, document
from tests.integration.searcher.training import Patient, Train
from tests.support.drill_share import every
from tests.support.waiting import TIMEOUT_S

POINTS = [
    "consumer.after_inbox:9",
    "consumer.after_handlers:9",
    "unit.before_commit:9",
    "unit.after_commit:9",
    "relay.before_publish:9",
    "relay.before_mark:1",
    "consumer.before_ack:9",
    "searcher.before_verdict:5",
]


def loss(trial: int, step: int) -> float:
    return math.cos(trial * 78.233) + 1 / step


@pytest.mark.parametrize("point", every(3, POINTS))
async def test_killed_and_started_again(
    point: str, neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    config = document({**ASHA, "max_trials": 8, "max_concurrent_trials": 2})
    async with searcher(settings("searcher"), f"{point}:kill") as first:
        experiment = await neighbours.submit(config)
        train = asyncio.create_task(Patient(neighbours, experiment, loss).until_over())
        await asyncio.wait_for(first.wait(), TIMEOUT_S)
        assert first.returncode == -9
        async with searcher(settings("searcher")):
            over = await train
            await neighbours.wait_answering()
            assert over.state == "completed"
            assert over.trials.completed + over.trials.stopped == 8
            await count_wishes(neighbours, experiment)
            await agree_with_the_rule(neighbours, experiment, config)
            specs = [request.spec for request in neighbours.received.requests(experiment).values()]
            assert {(spec.workspace, spec.owner) for spec in specs} == {("w", "me")}


@pytest.mark.parametrize(
    "keys",
    [{}, {"sampler": "tpe"}, {"name": "async_halving", "num_rungs": 3, "stop_once": False}],
    ids=["chance", "a model", "promotion"],
)
async def test_two_replicas_share_one_search(
    keys: dict[str, object], neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    config = document({**ASHA, **keys})
    async with searcher(settings("searcher")), searcher(settings("searcher")):
        experiment = await neighbours.submit(config)
        over = await Train(neighbours, experiment, loss).until_over()
        assert over.trials.completed + over.trials.stopped == 20
        await count_wishes(neighbours, experiment)
        await agree_with_the_rule(neighbours, experiment, config)


async def test_brackets_of_hyperband_go_on_after_a_crash(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    hyperband = {"name": "hyperband", "max_time": 9, "time_metric": "step", "max_concurrent_trials": 4}
    config = document(hyperband)
    async with searcher(settings("searcher"), "unit.after_commit:25:kill") as first:
        experiment = await neighbours.submit(config)
        train = Patient(neighbours, experiment, loss)
        ends = asyncio.create_task(train.until_over())
        await asyncio.wait_for(first.wait(), TIMEOUT_S)
        async with searcher(settings("searcher")):
            over = await ends
            assert over.state == "completed" and train.most_running <= 4
            assert (over.trials.completed, over.trials.stopped) == (1 + 1 + 3, 12)
            await neighbours.wait_answering()
            await count_wishes(neighbours, experiment)
            await agree_with_the_rule(neighbours, experiment, config)

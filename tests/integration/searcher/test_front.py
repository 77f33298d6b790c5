"""A search with two metrics and a limit in the real service: its front outlives the process that compared the trials."""

import asyncio
import math
from collections.abc import Callable
from uuid import uuid4

import pytest

from services.searcher.core.experiment.pareto import pareto_front
from shared.errors import NotFound
from shared.ids import ExperimentId, TenantId
from shared.messages.base import Event
from shared.messages.experiments import GetParetoFront, ParetoTrial
from shared.messages.reports import ValidationStored
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.searcher.searches import ASHA, agree_with_the_rule
from tests.integration.searcher.training import Patient, Train
from tests.support.waiting import TIMEOUT_S, eventually

CONFIG = {
    "entrypoint": "true",
    "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
    "searcher": {
        **ASHA,
        "max_trials": 12,
        "max_concurrent_trials": 3,
        "sampler": {"name": "tpe", "startup_trials": 3},
        "metrics": [{"name": "accuracy", "smaller_is_better": False}, {"name": "size"}],
        "limits": ["latency <= 20"],
    },
}


def measured(trial: int, step: int) -> dict[str, float]:
    size = abs(math.sin(trial * 78.233))
    return {"accuracy": size * step / (step + 1), "size": size, "latency": 12.0 + 10 * math.cos(trial)}


class Measuring(Patient):
    """Trials that report all that the search goes by."""

    async def _publish(self, message: Event) -> None:
        if isinstance(message, ValidationStored):
            number = self._wish(message.trial_id).spec.trial_number
            message = message.model_copy(update={"values": measured(number, message.step)})
        await super()._publish(message)


async def front_of(neighbours: Neighbours, experiment: ExperimentId) -> list[ParetoTrial]:
    """Fetch it two trials at a time."""
    found: list[ParetoTrial] = []
    after: tuple[float, int] | None = None
    while True:
        page = await neighbours.bus.ask(
            GetParetoFront(experiment_id=experiment, after=after, limit=2), neighbours.tenant
        )
        found += page.trials
        if page.next is None:
            assert page.total == len(found)
            return found
        after = page.next


async def test_a_front_survives_a_kill_and_a_restart(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    async with searcher(settings("searcher"), "unit.after_commit:30:kill") as first:
        experiment = await neighbours.submit(CONFIG)
        train: Train = Measuring(neighbours, experiment, lambda trial, step: 0.0)
        training = asyncio.create_task(train.until_over())
        await asyncio.wait_for(first.wait(), TIMEOUT_S)
    async with searcher(settings("searcher")):
        over = await training
        assert over.state == "completed"
        await neighbours.wait_answering()
        await eventually(lambda: all(one.final for one in neighbours.received.trials(experiment).values()))
        front = await front_of(neighbours, experiment)
        await agree_with_the_rule(neighbours, experiment, CONFIG)
    async with searcher(settings("searcher")):
        await neighbours.wait_answering()
        assert await front_of(neighbours, experiment) == front
        with pytest.raises(NotFound):
            await neighbours.bus.ask(GetParetoFront(experiment_id=experiment), TenantId(uuid4()))

    published = neighbours.received.trials(experiment)
    bests = {
        number: {"accuracy": trial.best.value, **trial.best.others}
        for number, trial in published.items()
        if trial.best
    }
    assert set(bests) == {number for number in published if measured(number, 1)["latency"] <= 20}
    numbers = sorted(bests)
    losses = [(-bests[number]["accuracy"], bests[number]["size"]) for number in numbers]
    assert {one.number: one.metrics for one in front} == {
        numbers[index]: bests[numbers[index]] for index in pareto_front(losses)
    }
    assert over.best is not None and (front[0].number, front[0].step) == (
        over.best.trial_number,
        over.best.step,
    )
    assert over.best.others == {"size": front[0].metrics["size"], "latency": front[0].metrics["latency"]}

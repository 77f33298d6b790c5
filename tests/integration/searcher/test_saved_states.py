"""A searcher that starts anew goes on from the state saved after decision, and from the journal where none can be taken up."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import pytest

from shared.ids import ExperimentId
from shared.messages.search_journals import ReplayExperiment
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.searcher.searches import ASHA, agree_with_the_rule, document, loss, rows
from tests.integration.searcher.training import Patient
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

SAVED = "SELECT position FROM searcher.snapshot WHERE experiment = :e"
ELSEWHERE = UUID(int=1)
HIDE = (
    "UPDATE searcher.journal AS j SET experiment = :other FROM searcher.snapshot AS s"
    " WHERE s.experiment = :e AND j.experiment = :e AND j.position <= s.position RETURNING j.position"
)
SHOW = "UPDATE searcher.journal SET experiment = :e WHERE experiment = :other RETURNING position"


@pytest.fixture
def often(settings: Callable[[str], dict[str, str]]) -> dict[str, str]:
    return {**settings("searcher"), "MUSTER_SEARCHER__SAVE_EVERY": "10"}


async def until_saved(postgres: TestDatabase, experiment: ExperimentId) -> None:
    async def is_saved() -> bool:
        return bool(await rows(postgres, SAVED, e=experiment))

    await eventually(is_saved)


async def test_only_what_came_after_the_saved_state_is_read_again(
    neighbours: Neighbours, postgres: TestDatabase, often: dict[str, str]
) -> None:
    config = document(ASHA)
    async with searcher(often) as first:
        await neighbours.wait_answering()
        experiment = await neighbours.submit(config)
        train = asyncio.create_task(Patient(neighbours, experiment, loss).until_over())
        await until_saved(postgres, experiment)
        first.kill()
        await first.wait()
        # Whoever read the journal from its beginning would find it gone.
        assert len(await rows(postgres, HIDE, e=experiment, other=ELSEWHERE)) >= 10
        async with searcher(often):
            over = await train
            assert over.trials.completed + over.trials.stopped == 20
            await rows(postgres, SHOW, e=experiment, other=ELSEWHERE)
            await agree_with_the_rule(neighbours, experiment, config)


async def test_a_state_that_other_code_has_saved_is_left_alone(
    neighbours: Neighbours, postgres: TestDatabase, often: dict[str, str]
) -> None:
    config = document(ASHA)
    async with searcher(often) as first:
        await neighbours.wait_answering()
        experiment = await neighbours.submit(config)
        train = asyncio.create_task(Patient(neighbours, experiment, loss).until_over())
        await until_saved(postgres, experiment)
        first.kill()
        await first.wait()
        spoilt = (
            "UPDATE searcher.snapshot SET code = 'other', state = 'x' WHERE experiment = :e RETURNING code"
        )
        assert await rows(postgres, spoilt, e=experiment)
        async with searcher(often):
            assert (await train).state == "completed"
            await agree_with_the_rule(neighbours, experiment, config)


async def test_a_replay_finds_a_saved_state_that_is_not_what_the_decisions_come_to(
    neighbours: Neighbours, postgres: TestDatabase, often: dict[str, str]
) -> None:
    async with searcher(often):
        await neighbours.wait_answering()
        first, second = [await neighbours.submit(document(ASHA | {"max_trials": n})) for n in (20, 21)]
        for experiment in (first, second):
            await Patient(neighbours, experiment, loss).until_over()
        question = ReplayExperiment(experiment_id=first)
        found = await neighbours.bus.ask(question, neighbours.tenant, 30.0)
        assert (found.difference, found.checked) == (None, found.decisions)
        swap = "UPDATE searcher.snapshot SET state = (SELECT state FROM searcher.snapshot WHERE experiment = :f) WHERE experiment = :e RETURNING position"
        position = (await rows(postgres, swap, e=first, f=second))[0][0]
        difference = (await neighbours.bus.ask(question, neighbours.tenant, 30.0)).difference
        assert difference is not None
        assert difference.position == position
        assert "the state saved after decision" in difference.summary

"""Searches that begin with what earlier ones of their workspace came to, read from the real tables."""

from typing import Any

import pytest

from shared.errors import Rejected
from shared.messages.experiments import ValidateConfig
from shared.messages.search_journals import GetJournal
from tests.integration.searcher.neighbours import Neighbours
from tests.integration.searcher.searches import ASHA, RANDOM, agree_with_the_rule, document, loss
from tests.integration.searcher.training import Train
from tests.support.waiting import eventually


async def run(neighbours: Neighbours, config: dict[str, Any]) -> tuple[Any, int]:
    """The experiment, and its number."""
    experiment = await neighbours.submit(config)
    number = neighbours.number
    ended = await Train(neighbours, experiment, loss).until_over()
    assert ended.state == "completed"
    return experiment, number


async def test_a_search_begins_with_what_an_earlier_one_came_to(
    neighbours: Neighbours, service: object
) -> None:
    first, number = await run(neighbours, document(ASHA))
    warm_start = {"experiments": [number], "best": 1, "points": [{"lr": 0.05}]}
    config = document(ASHA | {"max_trials": 5, "sampler": "tpe", "warm_start": warm_start})
    second, _ = await run(neighbours, config)

    def whole() -> dict[int, tuple[float, Any]]:
        published = neighbours.received.trials(first).values()
        return {
            trial.number: (trial.best.value, trial.hyperparameters)
            for trial in published
            if trial.state == "completed" and trial.best
        }

    await eventually(lambda: len(whole()) >= 1 and len(neighbours.received.trials(second)) == 5)
    points = {trial.number: trial.hyperparameters for trial in neighbours.received.trials(second).values()}
    assert points[1] == {"lr": 0.05}
    assert points[2] == min(whole().values(), key=lambda each: each[0])[1]
    page = await neighbours.bus.ask(GetJournal(experiment_id=second, after=0, limit=1), neighbours.tenant)
    (warmed,) = page.entries
    known: Any = warmed.facts["known"]
    assert warmed.kind == "warm_started" and {each["experiment"] for each in known} == {number}
    assert sorted(each["trial"] for each in known) == list(range(1, 21))
    judged_at = {each["trial"]: each["time"] for each in known}
    assert {judged_at[trial] for trial in whole()} == {None}
    assert set(judged_at.values()) <= {None, 1.0, 3.0, 9.0} and 1.0 in judged_at.values()
    assert await agree_with_the_rule(neighbours, second, config)


async def test_only_experiments_of_the_workspace_can_be_named(
    neighbours: Neighbours, service: object
) -> None:
    _, number = await run(neighbours, document(RANDOM))
    warm = document(RANDOM | {"warm_start": {"experiments": [number], "best": 1}}, project="p")
    await neighbours.bus.ask(ValidateConfig(config=warm | {"workspace": "w"}), neighbours.tenant)
    with pytest.raises(
        Rejected, match=f"experiment {number} does not exist in workspace 'elsewhere'"
    ) as refused:
        await neighbours.bus.ask(ValidateConfig(config=warm | {"workspace": "elsewhere"}), neighbours.tenant)
    assert refused.value.place == "searcher.warm_start.experiments[0]"
    absent = document(RANDOM | {"warm_start": {"experiments": [number, 999_999]}})
    experiment = await neighbours.submit(absent)
    rejected = await neighbours.wait_state(experiment, "rejected")
    assert "experiment 999999 does not exist in workspace 'w'" in (rejected.reason or "")


async def test_a_search_may_learn_from_one_that_was_submitted_right_before(
    neighbours: Neighbours, service: object
) -> None:
    """While the searcher is busy with those before them, both wait and are taken up together."""
    for _ in range(10):
        await neighbours.submit(document(RANDOM))
    number = neighbours.number
    learning = await neighbours.submit(document(RANDOM | {"warm_start": {"experiments": [number]}}))
    assert (await neighbours.wait_state(learning, "active")).reason is None


async def test_notes_say_what_serves_for_nothing(neighbours: Neighbours, service: object) -> None:
    _, number = await run(neighbours, document(RANDOM))
    warm = document(
        RANDOM | {"warm_start": {"experiments": [number]}},
        hyperparameters={"lr": {"type": "double", "minval": 5, "maxval": 6}},
        workspace="w",
        project="p",
    )
    accepted = await neighbours.bus.ask(ValidateConfig(config=warm), neighbours.tenant)
    assert [f"experiment {number} has no trial" in accepted.warnings[0], len(accepted.warnings)] == [True, 2]

"""Searches that go as far as a person or a budget lets them, through every service."""

import pytest

from tests.e2e.platform import Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

RANDOM: dict[str, object] = {"name": "random", "metric": "loss", "max_trials": 40, "max_concurrent_trials": 2}
SPACE: dict[str, object] = {
    "x": {"type": "double", "minval": 0, "maxval": 1},
    "pace_s": 0.5,
    "every": 100_000,
}


def test_a_search_ends_within_its_slot_hours_with_the_best_so_far(platform: Platform) -> None:
    made = platform.create(RANDOM, hyperparameters=SPACE | {"steps": 8}, budget={"slot_hours": 0.02})
    ended = platform.completed(made)
    reason = str(ended.reason)
    assert reason.startswith("budget.slot_hours: ") and "of 0.02 slot-hours" in reason
    assert ended.best is not None
    assert ended.budget is not None and 0 < ended.budget.used_slot_hours <= 0.02
    assert 0 < len(platform.client.trials.list(made.number).all()) < 40
    shown = platform.muster("experiment", "describe", str(made.number)).out
    assert "of 0.02 slot-hours" in shown and "budget.slot_hours" in shown


def test_a_running_search_is_given_more_places_and_is_finished_early(platform: Platform) -> None:
    made = platform.create(RANDOM | {"max_concurrent_trials": 1}, hyperparameters=SPACE | {"steps": 1000})
    number = str(made.number)
    platform.until(lambda: platform.client.experiments.get(number).best is not None)
    changed = platform.muster(
        "experiment", "edit", number, "--max-trials", "5", "--max-concurrent-trials", "2"
    )
    assert changed.code == 0 and "5 trials, at most 2 at once" in " ".join(changed.err.split())
    platform.until(lambda: len(platform.client.trials.list(number).all()) == 2)
    refused = platform.muster("experiment", "edit", number, "--max-trials", "1")
    assert refused.code != 0 and "already created 2 trials" in " ".join(refused.err.split())
    assert platform.muster("experiment", "finish", number).code == 0
    ended = platform.completed(made)
    assert ended.reason == "finished early by a user"
    first = platform.client.trials.list(number).all()[0]
    assert first.state == "stopped"
    saved = [one for one in platform.client.checkpoints.of_trial(first.id) if one.state == "saved"]
    assert saved, "a trial that is stopped saves"
    assert platform.muster("experiment", "edit", number, "--max-trials", "9").code != 0

"""Searches that begin with what an earlier one came to, and with its weights."""

import pytest

from tests.e2e.platform import Platform
from tests.e2e.test_searches import SPACE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]
RANDOM: dict[str, object] = {"name": "random", "metric": "loss", "max_trials": 3}


def test_a_search_begins_with_the_best_of_an_earlier_one(platform: Platform) -> None:
    space = SPACE | {"steps": 2}
    first = platform.completed(platform.create(RANDOM, hyperparameters=space))
    assert first.best is not None
    earlier = {trial.number: trial for trial in platform.client.trials.list(first.number)}
    warm_start = {"experiments": [first.number], "best": 1, "points": [{"x": 0.25}]}
    warm = RANDOM | {"sampler": "tpe", "warm_start": warm_start}
    made = platform.create(warm, hyperparameters=space)
    assert made.warnings == []
    platform.completed(made)
    begun = {trial.number: trial.hyperparameters["x"] for trial in platform.client.trials.list(made.number)}
    assert [begun[1], begun[2]] == [0.25, earlier[first.best.trial_number].hyperparameters["x"]]
    assert platform.client.experiments.replay(made.number).difference is None
    other = platform.create(warm, hyperparameters=SPACE | {"steps": 1})
    assert [f"experiment {first.number} has no trial" in note for note in other.warnings] == [True]
    platform.completed(other)


def test_a_training_begins_with_the_weights_of_a_model(platform: Platform) -> None:
    first = platform.completed(platform.create(hyperparameters={"x": 1.0, "steps": 2, "pace_s": 0.02}))
    saved = platform.client.checkpoints.of_trial(f"{first.number}.1").all()
    name = f"toy {first.number}"
    platform.client.models.create(name)
    platform.client.models.register(name, saved[-1].id)
    single: dict[str, object] = {"name": "single", "metric": "loss", "source_model": f"{name}@latest"}
    made = platform.create(single, hyperparameters={"x": 1.0, "steps": 4, "pace_s": 0.02})
    assert made.config["searcher"]["source_model"] == f"{name}@1"  # type: ignore[index, call-overload]
    platform.completed(made)
    platform.log_of(f"{made.number}.1", has="begins at 2 with x")

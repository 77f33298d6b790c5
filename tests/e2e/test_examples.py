"""The examples of the frameworks, each sent as a person would send it, through the whole platform."""

from pathlib import Path

import pytest
import yaml

from muster.client.models import ExperimentDetail
from tests.e2e.platform import ROOT, Platform

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLES = ROOT / "examples"
METRICS = {
    "trainer": "accuracy",
    "lightning": "accuracy",
    "transformers": "eval_accuracy",
    "keras": "val_accuracy",
}
EPOCHS = 2


def create(platform: Platform, folder: Path) -> ExperimentDetail:
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["hyperparameters"]["epochs"] = EPOCHS
    return platform.client.experiments.create(yaml.safe_dump(config), folder)


@pytest.mark.parametrize("name", METRICS)
def test_an_example_trains_on_the_slots_that_its_config_asks_for(platform: Platform, name: str) -> None:
    folder = EXAMPLES / name
    ended = platform.completed(create(platform, folder))
    trial = f"{ended.number}.1"
    [run] = platform.client.trials.runs(trial).all()
    asked = (
        yaml.safe_load((folder / "config.yaml").read_text()).get("resources", {}).get("slots_per_trial", 1)
    )
    assert sum(member.slots for member in run.members) == asked
    series = platform.client.trials.metrics(trial, names=[METRICS[name]]).series
    [validations] = [one.points for one in series if one.group == "validation"]
    assert len(validations) == EPOCHS
    assert 0.2 < (validations[-1].value or 0) <= 1
    platform.until(lambda: platform.client.checkpoints.best_of(ended).step == validations[-1].step)

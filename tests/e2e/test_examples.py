"""The examples of the frameworks, each sent as a person would send it, through the whole platform."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.client.models import ExperimentDetail
from tests.e2e.platform import ROOT, Platform
from tests.support import guide

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLES = ROOT / "examples"
METRICS = {
    "trainer": "accuracy",
    "lightning": "accuracy",
    "transformers": "eval_accuracy",
    "keras": "val_accuracy",
}
EPOCHS = 2
TENSORFLOW = ROOT / ".tensorflow" / "bin" / "python"


def config_of(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((folder / "config.yaml").read_text())
    config["hyperparameters"]["epochs"] = EPOCHS
    return config


def create(platform: Platform, folder: Path, config: dict[str, Any]) -> ExperimentDetail:
    return platform.client.experiments.create(yaml.safe_dump(config), folder)


@pytest.mark.parametrize("name", METRICS)
def test_an_example_trains_on_the_slots_that_its_config_asks_for(platform: Platform, name: str) -> None:
    folder = EXAMPLES / name
    config = config_of(folder)
    ended = platform.completed(create(platform, folder, config))
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


def test_the_guides_script_trains_the_same_on_one_slot_and_on_two(platform: Platform, tmp_path: Path) -> None:
    """It says twelve; there are two here."""
    (tmp_path / "train.py").write_text(guide.scripts()[-1])
    config = yaml.safe_load(guide.config())
    assert config["resources"].pop("slots_per_trial") == 12
    config["hyperparameters"]["epochs"] = EPOCHS
    config["reproducibility"] = {"experiment_seed": 5}
    made = [
        create(platform, tmp_path, config | {"distributed": backend, "resources": {"slots_per_trial": slots}})
        for backend, slots in (("horovod", 1), ("horovod", 2), ("torch", 2))
    ]
    alone, *together = (best.value for one in made if (best := platform.completed(one).best))
    assert together == pytest.approx([alone, alone], abs=0.01)


@pytest.mark.skipif(not TENSORFLOW.exists(), reason="TensorFlow is not installed; `make tensorflow` does it")
@pytest.mark.parametrize("name", ["tensorflow", "keras"])
def test_two_ranks_train_on_tensorflow(platform: Platform, name: str) -> None:
    """A plain loop, and Keras on TensorFlow; gradients go by the gang's Horovod."""
    variables = ["KERAS_BACKEND=tensorflow", "TF_CPP_MIN_LOG_LEVEL=2"]
    changes = {"entrypoint": f"{TENSORFLOW} train.py", "environment": {"environment_variables": variables}}
    folder = EXAMPLES / name
    ended = platform.completed(create(platform, folder, config_of(folder) | changes))
    [run] = platform.client.trials.runs(f"{ended.number}.1").all()
    assert sum(member.slots for member in run.members) == 2
    assert ended.best and 0.2 < ended.best.value <= 1

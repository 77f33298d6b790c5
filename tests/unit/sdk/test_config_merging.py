"""A config over a template, as Determined 0.38 merges them."""

import pytest

from muster.config import merge_configs
from muster.config.merging import Values


@pytest.mark.parametrize(
    ("config", "template", "merged"),
    [
        pytest.param({"max_restarts": 1}, {"max_restarts": 9, "name": "t"}, {"max_restarts": 1, "name": "t"}, id="scalar"),
        pytest.param({"name": None}, {"name": "t"}, {"name": "t"}, id="null is open"),
        pytest.param(
            {"resources": {"slots_per_trial": 2}},
            {"resources": {"slots_per_trial": 8, "resource_pool": "a100"}},
            {"resources": {"slots_per_trial": 2, "resource_pool": "a100"}},
            id="mappings",
        ),
        pytest.param(
            {"environment": {"environment_variables": ["A=2"]}},
            {"environment": {"environment_variables": ["A=1", "B=1"]}},
            {"environment": {"environment_variables": ["A=1", "B=1", "A=2"]}},
            id="variables of the config come last, and win",
        ),
        pytest.param(
            {"environment": {"environment_variables": {"cuda": ["A=2"]}}},
            {"environment": {"environment_variables": ["A=1"]}},
            {"environment": {"environment_variables": {"cpu": ["A=1"], "cuda": ["A=1", "A=2"], "rocm": ["A=1"]}}},
            id="variables in both forms",
        ),
        pytest.param({"labels": ["b", "a"]}, {"labels": ["a", "c"]}, {"labels": ["a", "c", "b"]}, id="labels are a set"),
        pytest.param(
            {"bind_mounts": [{"host_path": "/mine", "container_path": "/data"}]},
            {"bind_mounts": [{"host_path": "/theirs", "container_path": "/data"}, {"host_path": "/h", "container_path": "/h"}]},
            {"bind_mounts": [{"host_path": "/h", "container_path": "/h"}, {"host_path": "/mine", "container_path": "/data"}]},
            id="mounts by container_path",
        ),
        pytest.param(
            {"resources": {"devices": ["/mine:/dev/x"]}},
            {"resources": {"devices": [{"host_path": "/theirs", "container_path": "/dev/x"}, "/y:/dev/y"]}},
            {"resources": {"devices": ["/y:/dev/y", "/mine:/dev/x"]}},
            id="devices by container_path, in both spellings",
        ),
        pytest.param(
            {"log_policies": [{"name": "CUDA OOM"}]},
            {"log_policies": [{"name": "CUDA OOM", "pattern": "x"}, {"name": "other", "pattern": "y"}]},
            {"log_policies": [{"name": "other", "pattern": "y"}, {"name": "CUDA OOM"}]},
            id="log policies by name",
        ),
        pytest.param(
            {"hyperparameters": {"lr": {"type": "int", "minval": 10, "maxval": 100}}},
            {"hyperparameters": {"lr": {"type": "int", "minval": 50, "maxval": 500, "count": 5}}},
            {"hyperparameters": {"lr": {"type": "int", "minval": 10, "maxval": 100}}},
            id="a typed hyperparameter is taken whole",
        ),
        pytest.param(
            {"hyperparameters": {"net": {"backbone": "bert"}, "none": None, "sizes": [1]}},
            {"hyperparameters": {"net": {"task": "lm"}, "none": {"a": 1}, "sizes": [2, 3]}},
            {"hyperparameters": {"net": {"backbone": "bert", "task": "lm"}, "none": None, "sizes": [1]}},
            id="nested ones are merged, null and lists are values",
        ),
        pytest.param(
            {"searcher": {"name": "random", "max_trials": 10}},
            {"searcher": {"metric": "loss", "smaller_is_better": False}},
            {"searcher": {"name": "random", "max_trials": 10, "metric": "loss", "smaller_is_better": False}},
            id="a searcher in two halves",
        ),
        pytest.param(
            {"searcher": {"name": "single", "metric": "loss"}},
            {"searcher": {"name": "random", "max_trials": 9, "metric": "loss", "smaller_is_better": False}},
            {"searcher": {"name": "single", "metric": "loss", "smaller_is_better": False}},
            id="of another searcher only what all have",
        ),
        pytest.param(
            {"searcher": {"name": "single", "metrics": [{"name": "loss"}]}},
            {"searcher": {"metric": "accuracy", "smaller_is_better": False, "limits": ["ms <= 2"]}},
            {"searcher": {"name": "single", "metrics": [{"name": "loss"}], "limits": ["ms <= 2"]}},
            id="metrics stand in the place of metric",
        ),
        pytest.param(
            {"checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"}},
            {"checkpoint_storage": {"type": "s3", "bucket": "b", "save_trial_latest": 10}},
            {"checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp", "save_trial_latest": 10}},
            id="of another storage only the counts",
        ),
    ],
)  # fmt: skip
def test_merging(config: Values, template: Values, merged: Values) -> None:
    before = repr((config, template))
    assert merge_configs(config, template) == merged
    assert repr((config, template)) == before


def test_what_must_win_is_given_as_the_config() -> None:
    invariant: Values = {"resources": {"priority": 60}}
    users: Values = {"resources": {"priority": 1, "slots_per_trial": 2}}
    assert merge_configs(invariant, users) == {"resources": {"priority": 60, "slots_per_trial": 2}}

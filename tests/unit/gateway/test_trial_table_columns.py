"""What a stored config declares of the table of its trials."""

from muster.config import load_config
from services.gateway.trial_tables.config_columns import declared_columns


def test_all_that_a_searcher_reads_and_every_hyperparameter_is_declared() -> None:
    config = load_config(
        {
            "name": "declared",
            "entrypoint": "python3 train.py",
            "hyperparameters": {
                "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
                "steps": 9,
                "optimizer": {
                    "kind": {"type": "categorical", "vals": ["adam", "sgd"]},
                    "type_of_decay": "none",
                },
            },
            "searcher": {
                "name": "async_halving",
                "num_rungs": 2,
                "metrics": [{"name": "accuracy", "smaller_is_better": False}, {"name": "loss"}],
                "limits": ["latency_ms <= 20"],
                "time_metric": "epochs",
                "max_time": 9,
                "max_trials": 4,
            },
        }
    )
    declared = declared_columns(config.model_dump(mode="json"), "accuracy", smaller_is_better=False)
    assert (declared.metric, declared.smaller_is_better) == ("accuracy", False)
    assert declared.validation_metrics == ("accuracy", "loss", "latency_ms", "epochs")
    assert set(declared.hyperparameters) == {
        ("lr",),
        ("steps",),
        ("optimizer", "kind"),
        ("optimizer", "type_of_decay"),
    }


def test_steps_are_no_metric_and_a_config_may_lack_everything() -> None:
    assert declared_columns({"searcher": {"time_metric": "step"}}, None, True).validation_metrics == ()
    assert declared_columns({}, None, True).hyperparameters == ()

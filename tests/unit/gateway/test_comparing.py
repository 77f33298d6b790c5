"""Two versions of a model differ in what one of them has otherwise, or not at all."""

from services.gateway.model_versions.comparison import FactDifference, Facts, differences, flatten


def test_differences_come_by_kind_and_name_and_equal_things_are_left_out() -> None:
    base: Facts = {
        "metric": {"loss": 0.5, "accuracy": 0.9},
        "file": {"b.pt": "1", "a.pt": "1"},
        "step": {"step": 3},
    }
    other: Facts = {"file": {"b.pt": "2"}, "metric": {"loss": 0.5, "accuracy": 0.8}, "step": {"step": 3}}
    assert differences(base, other) == [
        FactDifference("metric", "accuracy", 0.9, 0.8),
        FactDifference("file", "a.pt", "1", None),
        FactDifference("file", "b.pt", "1", "2"),
    ]


def test_nested_hyperparameters_are_named_by_their_path() -> None:
    assert flatten({"optimizer": {"lr": 0.1, "betas": {}}, "depth": 3}) == {
        "optimizer.lr": 0.1,
        "optimizer.betas": {},
        "depth": 3,
    }

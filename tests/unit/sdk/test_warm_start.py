"""Points that a warm start tries first are points of the space, and said where they are not."""

from typing import Any

import pytest

from muster.config import load_config
from muster.errors import Rejected

SPACE: dict[str, Any] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam", True]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64, "step": 8}},
    "epochs": 5,
}
POINT: dict[str, Any] = {"lr": 0.01, "optimizer": "sgd", "momentum": 0.3, "net": {"width": 16}}


def load(warm_start: dict[str, Any], max_trials: int = 4) -> Any:
    searcher = {"name": "random", "metric": "loss", "max_trials": max_trials, "warm_start": warm_start}
    return load_config(
        {
            "entrypoint": "true",
            "hyperparameters": SPACE,
            "searcher": searcher,
            "constraints": ["net.width * lr < 6"],
        }
    )


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"lr": 1.0}, "lr", "1.0 is not a valid value of 'lr'"),
        ({"lr": "0.01"}, "lr", "is not a valid value"),
        ({"lr": True}, "lr", "true is not a valid value"),
        ({"optimizer": 1}, "optimizer", "1 is not a valid value of 'optimizer'"),
        ({"momentum": 0.35}, "momentum", "0.35 is not a valid value"),
        ({"net": {"width": 12}}, "net.width", "12 is not a valid value of 'net.width'"),
        ({"net": {}}, "net.width", "'net.width' has no value"),
        ({"net": 16}, "net", "'net' is not a hyperparameter"),
        ({"epochs": 6}, "epochs", "6 is not a valid value of 'epochs'"),
        ({"heads": 8}, "heads", "'heads' is not a hyperparameter of this space"),
        ({"lr": 0.1, "net": {"width": 64}}, "", "violates the constraint 'net.width * lr < 6'"),
    ],
)
def test_a_point_outside_the_space_is_refused_at_its_place(
    changes: dict[str, Any], place: str, words: str
) -> None:
    with pytest.raises(Rejected, match="warm_start") as refused:
        load({"points": [POINT, POINT | changes]})
    assert refused.value.place == "searcher.warm_start.points[1]" + (f".{place}" if place else "")
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("warm_start", "place"),
    [
        ({}, "searcher.warm_start"),
        ({"best": 2}, "searcher.warm_start"),
        ({"points": [POINT], "best": 2}, "searcher.warm_start.best"),
        ({"points": [POINT] * 5}, "searcher.warm_start.points"),
        ({"experiments": [0]}, "searcher.warm_start.experiments[0]"),
        ({"experiment": [1]}, "searcher.warm_start.experiment"),
    ],
)
def test_a_warm_start_that_says_nothing_or_too_much_is_refused(
    warm_start: dict[str, Any], place: str
) -> None:
    with pytest.raises(Rejected) as refused:
        load(warm_start)
    assert refused.value.place == place


def test_points_are_completed_as_samplers_would_write_them() -> None:
    found = load(
        {
            "points": [
                POINT | {"lr": 0.1, "momentum": 0},
                {"lr": 1e-4, "optimizer": "adam", "net": {"width": 8}},
            ]
        }
    )
    assert found.first_points() == (
        {"lr": 0.1, "optimizer": "sgd", "momentum": 0.0, "net": {"width": 16}, "epochs": 5},
        {"lr": 1e-4, "optimizer": "adam", "net": {"width": 8}, "epochs": 5},
    )
    assert load_config(found.to_json()) == found

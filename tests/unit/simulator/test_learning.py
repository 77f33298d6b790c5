"""Simulated curves: equal for equal seeds, between the ends that were said, and better near the best point."""

import pytest

from muster.config import Point, load_config
from simulator.experiments.synthetic_curves import Landscape, Learning

CONFIG = load_config(
    {
        "entrypoint": "python3 train.py",
        "hyperparameters": {
            "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
            "model": {"width": {"type": "int", "minval": 8, "maxval": 64}},
            "act": {"type": "categorical", "vals": ["relu", "gelu", "tanh"]},
            "decay": 0.1,
        },
        "searcher": {"name": "random", "metric": "loss", "max_trials": 4},
    }
)
LEARNING = Learning(steps=100, first=2.0, best=0.1, worst=1.0, halves_after=10)


def point(lr: float, width: int, act: str) -> Point:
    return {"lr": lr, "model": {"width": width}, "act": act, "decay": 0.1}


POINTS = [point(10.0**-e, w, a) for e in (1, 2.5, 4) for w in (8, 30, 64) for a in ("relu", "gelu", "tanh")]


def test_curves_fall_from_the_first_value_to_an_end_between_best_and_worst() -> None:
    ends = [Landscape(CONFIG, LEARNING, 3).curve(each, 1).values(10_000)["loss"] for each in POINTS]
    assert all(0.1 - 1e-9 <= end <= 1.0 + 1e-9 for end in ends)
    assert max(ends) - min(ends) > 0.2
    curve = Landscape(CONFIG, LEARNING, 3).curve(POINTS[0], 1)
    assert curve.values(0)["loss"] == pytest.approx(2.0)
    assert [curve.values(s)["loss"] for s in (1, 5, 20)] == sorted(
        (curve.values(s)["loss"] for s in (1, 5, 20)), reverse=True
    )


def test_equal_seeds_make_equal_curves_and_others_do_not() -> None:
    noisy = Learning(steps=100, noise=0.1, spread=0.5)

    def drawn(seed: int, trial: int) -> tuple[float, float]:
        curve = Landscape(CONFIG, noisy, seed).curve(POINTS[4], trial)
        return curve.values(7)["loss"], curve.step_ms

    assert drawn(1, 1) == drawn(1, 1) and len({drawn(1, 1), drawn(1, 2), drawn(2, 1)}) == 3


def test_what_takes_no_part_is_neither_good_nor_bad() -> None:
    space: dict[str, object] = {
        "act": {"type": "categorical", "vals": ["relu", "gelu"]},
        "slope": {"type": "double", "minval": 0, "maxval": 1, "when": {"act": "relu"}},
    }
    config = load_config(
        {
            "entrypoint": "x",
            "hyperparameters": space,
            "searcher": {"name": "random", "metric": "loss", "max_trials": 2},
        }
    )
    landscape = Landscape(config, LEARNING, 1)
    points: list[Point] = [{"act": "gelu"}, {"act": "relu", "slope": 0.5}]
    for each in points:
        assert 0.1 <= landscape.curve(each, 1).values(10_000)["loss"] <= 1.0

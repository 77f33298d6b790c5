"""Samplers: in the space, better than chance where they learn, the very points of Optuna, and the same after any rebuilding."""

import math
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from hypothesis import given, settings, strategies as st

from muster.config import ExperimentConfig, Point, load_config
from services.searcher.core.samplers import Observation, Sampler, make_sampler
from services.searcher.core.samplers.drawing import Stream
from shared.errors import Rejected

SPACE: dict[str, object] = {
    "x": {"type": "double", "minval": -3, "maxval": 3},
    "y": {"type": "double", "minval": -3, "maxval": 3},
}
CONDITIONAL: dict[str, object] = {
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam", ["adam", {"amsgrad": True}]]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "when": {"optimizer": "sgd"}},
    "nesterov": {
        "type": "categorical",
        "vals": [True, False],
        "when": {"momentum": [0.3], "optimizer": "sgd"},
    },
    "batch": {"type": "int", "minval": 16, "maxval": 256, "step": 16},
    "width": {"type": "int", "minval": 1, "maxval": 64},
}
NAMES = ("random", "quasi_random", "tpe", "gp", "cmaes", "nsga2")
MODELS = ("tpe", "gp", "cmaes", "nsga2")


def config(sampler: object, space: dict[str, object] = SPACE, **more: Any) -> ExperimentConfig:
    searcher = {"name": "random", "metric": "loss", "max_trials": 1000, "sampler": sampler}
    return load_config({"entrypoint": "true", "hyperparameters": space, "searcher": searcher, **more})


def bowl(point: Point) -> float:
    x, y = point["x"], point["y"]
    assert isinstance(x, float) and isinstance(y, float)
    return (x - 1) ** 2 + (y + 2) ** 2


def searched(sampler: Sampler, trials: int, loss: Callable[[Point], float], at_once: int = 1) -> list[Point]:
    """Points of a search in which `at_once` trials are always pending."""
    points: list[Point] = []
    for trial in range(1, trials + 1):
        points.append(sampler.propose(trial).point)
        if trial >= at_once:
            ended = trial - at_once + 1
            sampler.observe(ended, Observation(loss(points[ended - 1])))
    return points


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**31 - 1), at_once=st.integers(1, 6))
def test_points_are_in_the_space_meet_the_conditions_and_the_constraints(
    name: str, seed: int, at_once: int
) -> None:
    chosen = config(
        name, CONDITIONAL, constraints=["batch * width <= 4096", "optimizer != 'sgd' or width > 2"]
    )
    points: list[Any] = searched(
        make_sampler(chosen, seed), 13, lambda point: float(str(point["width"])), at_once
    )
    for point in points:
        assert point["batch"] in range(16, 257, 16) and point["batch"] * point["width"] <= 4096
        assert ("momentum" in point) == (point["optimizer"] == "sgd")
        assert "nesterov" not in point or point["momentum"] == 0.3


@pytest.mark.parametrize("name", MODELS)
def test_a_model_finds_what_chance_does_not(name: str) -> None:
    """The last points are better than random ones on the mean, also with several pending."""

    def late(sampler: str, seed: int) -> float:
        more = {"nsga2": {"population_size": 8}, "gp": {"startup_trials": 5}}.get(sampler, {})
        trials, at_once = (14, 2) if name == "gp" else (60, 4)
        points = searched(make_sampler(config({"name": sampler} | more), seed), trials, bowl, at_once)
        return sum(map(bowl, points[-trials // 3 :])) / len(points[-trials // 3 :])

    seeds = range(3)
    assert sum(late(name, seed) for seed in seeds) < 0.6 * sum(late("random", seed) for seed in seeds)


def test_a_sobol_sequence_fills_the_space_more_evenly_than_chance() -> None:
    def gaps(sampler: str) -> float:
        points: list[Any] = searched(make_sampler(config(sampler), 5), 64, bowl)
        cells = {(int((point["x"] + 3) / 0.75), int((point["y"] + 3) / 0.75)) for point in points}
        return 64 - len(cells)

    assert gaps("quasi_random") <= 4 < 16 <= gaps("random")


@pytest.mark.parametrize("name", [*MODELS, "quasi_random"])
@settings(max_examples=2, deadline=None)
@given(cut=st.integers(1, 30), constrained=st.booleans())
def test_taking_what_was_proposed_leads_to_the_same_future(name: str, cut: int, constrained: bool) -> None:
    constraints: dict[str, Any] = {"constraints": ["x + y < 1"]} if constrained else {}
    chosen = config({"name": name}, **constraints)
    first, second = make_sampler(chosen, 3), make_sampler(chosen, 3)
    for trial in range(1, 15 if name == "gp" else 33):
        suggestion = first.propose(trial)
        if trial <= cut:
            second.take(trial, suggestion)
        else:
            assert second.propose(trial) == suggestion
        for sampler in (first, second):
            sampler.observe(trial, Observation(None if trial % 7 == 0 else bowl(suggestion.point)))


def test_tpe_gives_the_very_points_of_optuna_driven_by_hand() -> None:
    def by_hand(seed: int) -> list[dict[str, Any]]:
        study = optuna.create_study()
        for trial in range(1, 31):
            study.sampler = optuna.samplers.TPESampler(seed=Stream(~seed, trial).seed())
            asked = study.ask()
            point: Point = {name: asked.suggest_float(name, -3, 3) for name in ("x", "y")}
            study.tell(asked, bowl(point))
        return [each.params for each in study.trials]

    assert searched(make_sampler(config("tpe"), 9), 30, bowl) == by_hand(9)


@pytest.mark.parametrize(("at_once", "apart"), [(1, 0.0), (4, 1e-6)])
def test_gp_gives_the_points_of_optuna_driven_by_hand(at_once: int, apart: float) -> None:
    """Alone the very same; with pending trials, which it evaluates in another order, up to rounding."""
    study = optuna.create_study()
    asked: list[optuna.Trial] = []
    for trial in range(1, 13):
        seed = Stream(~9, trial).seed()
        study.sampler = optuna.samplers.GPSampler(
            seed=seed, n_startup_trials=6, warn_independent_sampling=False
        )
        asked.append(study.ask())
        for name in ("x", "y"):
            asked[-1].suggest_float(name, -3, 3)
        if trial >= at_once:
            study.tell(asked[trial - at_once], bowl(asked[trial - at_once].params))
    ours: list[Any] = searched(
        make_sampler(config({"name": "gp", "startup_trials": 6}), 9), 12, bowl, at_once
    )
    for point, trial_ in zip(ours, asked, strict=True):
        assert all(abs(point[name] - trial_.params[name]) <= apart for name in ("x", "y"))


def test_what_was_stopped_early_counts_by_how_far_it_came() -> None:
    """A trial that was judged bad at its first rung teaches TPE to look elsewhere."""
    sampler = make_sampler(config({"name": "tpe", "startup_trials": 5}), 1)
    for trial in range(1, 41):
        point: Any = sampler.propose(trial).point
        is_left = point["x"] < 0
        sampler.observe(trial, Observation(9.0 if is_left else 1.0, 1.0 if is_left else None))
    later: list[Any] = [sampler.propose(trial).point for trial in range(41, 61)]
    assert sum(point["x"] >= 0 for point in later) >= 15


@pytest.mark.parametrize("name", MODELS)
def test_a_value_that_is_no_number_hurts_nothing(name: str) -> None:
    sampler = make_sampler(config(name), 2)
    for trial in range(1, 15):
        sampler.propose(trial)
        sampler.observe(trial, Observation(math.inf if trial % 2 else 1.0))


def test_a_space_that_the_constraints_leave_empty_is_refused_with_the_worst_of_them() -> None:
    from services.searcher.core.samplers.domain import Domain

    chosen = config("random", constraints=["x > -2", "x + y > 7"])
    with pytest.raises(Rejected) as refused:
        Domain.of(chosen).check()
    assert refused.value.place == "constraints[1]"
    Domain.of(config("random", constraints=["x + y > 5.5"])).check()


def test_a_grid_counts_what_differs_and_meets_the_constraints() -> None:
    space: dict[str, object] = {
        "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
        "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "count": 4, "when": {"optimizer": "sgd"}},
        "width": {"type": "int", "minval": 1, "maxval": 3, "step": 1},
    }
    document = {
        "entrypoint": "true",
        "hyperparameters": space,
        "constraints": ["momentum < 0.5 or width == 1"],
        "searcher": {"name": "grid", "metric": "loss"},
    }
    sampler = make_sampler(load_config(document), 0)
    # sgd: two of four momenta with 3 widths, the other two with one; adam: 3 widths.
    points = [sampler.propose(trial).point for trial in range(1, 12)]
    assert len({str(point) for point in points}) == 11
    assert sum(point["optimizer"] == "adam" for point in points) == 3
    with pytest.raises(Rejected):
        make_sampler(load_config(document | {"constraints": ["width > 3"]}), 0)

import itertools
import math
from collections.abc import Mapping
from typing import Any

from hypothesis import given, strategies as st

from muster.config import Categorical, Double, Int, Log, load_config
from services.searcher.core.samplers.domain import Domain
from services.searcher.core.samplers.drawing import Stream, draw_point, grid_values
from services.searcher.core.samplers.random_and_grid import GridPoints

Space = Mapping[str, Any]
SPACE: Space = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "batch": 32,
    "net": {
        "width": {"type": "int", "minval": 1, "maxval": 4},
        "drop": {"type": "double", "minval": 0, "maxval": 0.5},
    },
    "act": {"type": "categorical", "vals": ["relu", "tanh", None]},
}


def space(given_space: Space = SPACE) -> dict[str, Any]:
    searcher = {"name": "random", "metric": "m", "max_trials": 2}
    return load_config(
        {"entrypoint": "x", "hyperparameters": given_space, "searcher": searcher}
    ).hyperparameters


@given(seed=st.integers(0, 2**31 - 1), trial=st.integers(1, 10_000))
def test_points_lie_in_the_space(seed: int, trial: int) -> None:
    point: dict[str, Any] = dict(draw_point(space(), Stream(seed, trial)))
    assert 1e-4 <= point["lr"] <= 1e-1
    assert point["batch"] == 32
    assert point["net"]["width"] in (1, 2, 3, 4)
    assert 0 <= point["net"]["drop"] <= 0.5
    assert point["act"] in ("relu", "tanh", None)


def test_a_seed_means_the_same_points_on_every_machine() -> None:
    # Vectors of this generator: a change of them changes every search that people have run.
    stream = Stream(0, 1)
    assert [stream.seed() for _ in range(3)] == [1401122455, 1505841538, 831342762]
    assert draw_point(space(), Stream(7, 3)) == {
        "act": "tanh",
        "batch": 32,
        "lr": 0.00017158971860356645,
        "net": {"drop": 0.03141060624472064, "width": 3},
    }


def test_the_order_in_which_names_were_written_changes_nothing() -> None:
    def turned(value: Any) -> Any:
        return {k: turned(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value

    assert draw_point(space(turned(SPACE)), Stream(5, 9)) == draw_point(space(), Stream(5, 9))


def test_draws_are_spread_evenly() -> None:
    points: list[Any] = [draw_point(space(), Stream(3, trial)) for trial in range(1, 4001)]
    widths = [point["net"]["width"] for point in points]
    assert all(abs(widths.count(width) - 1000) < 120 for width in (1, 2, 3, 4))


def test_streams_of_neighbouring_trials_are_unlike() -> None:
    draws = [Stream(1, trial).random() for trial in range(2000)]
    mean = sum(draws) / len(draws)
    neighbours = sum((a - mean) * (b - mean) for a, b in itertools.pairwise(draws)) / len(draws)
    assert abs(mean - 0.5) < 0.03
    assert abs(neighbours) < 0.01


def test_grid_values() -> None:
    def ints(low: int, high: int, count: int) -> object:
        return grid_values(Int(type="int", minval=low, maxval=high, count=count))

    assert ints(0, 10, 3) == [0, 5, 10]
    assert ints(1, 4, 9) == [1, 2, 3, 4]
    assert ints(0, 5, 1) == [3]
    assert ints(-5, 0, 1) == [-3]
    assert ints(0, 3, 3) == [0, 2, 3]
    assert grid_values(Double(type="double", minval=0, maxval=1, count=3)) == [0, 0.5, 1]
    assert grid_values(Double(type="double", minval=0, maxval=1, count=1)) == [0.5]
    log: Any = grid_values(Log(type="log", base=10, minval=-3, maxval=-1, count=3))
    assert all(math.isclose(a, b) for a, b in zip(log, [1e-3, 1e-2, 1e-1], strict=True))
    assert grid_values(Categorical(type="categorical", vals=["a", "b"])) == ("a", "b")


def test_a_grid_has_every_combination_once_and_names_in_order() -> None:
    given_space = {
        "b": {"type": "int", "minval": 1, "maxval": 2, "count": 2},
        "a": {"x": {"type": "categorical", "vals": ["p", "q", "r"]}},
        "c": 5,
    }
    points = GridPoints(Domain(space(given_space), ()))
    everything = [points[index] for index in range(len(points))]
    assert everything[:3] == [
        {"a": {"x": "p"}, "b": 1, "c": 5},
        {"a": {"x": "p"}, "b": 2, "c": 5},
        {"a": {"x": "q"}, "b": 1, "c": 5},
    ]
    assert len({str(sorted(point.items())) for point in everything}) == 6


def test_steps_are_the_only_values() -> None:
    stepped: Space = {
        "units": {"type": "int", "minval": 8, "maxval": 30, "step": 8},
        "drop": {"type": "double", "minval": 0, "maxval": 0.5, "step": 0.1},
    }
    points: list[Any] = [draw_point(space(stepped), Stream(1, trial)) for trial in range(1, 400)]
    assert {point["units"] for point in points} == {8, 16, 24}
    assert {point["drop"] for point in points} == {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}
    assert len(GridPoints(Domain(space(stepped), ()))) == 18

"""The rules of ASHA one by one, and the points of random and grid."""

import math
import random

from hypothesis import given, settings, strategies as st

from services.searcher.core.methods.asha import StoppingBracket
from services.searcher.core.methods.interface import StartTrial, TrialEnding
from tests.unit.searcher.world import World, asha, config, run_search

GRID: dict[str, object] = {
    "a": {"type": "int", "minval": 1, "maxval": 3, "count": 3},
    "b": {"type": "categorical", "vals": ["x", "y"]},
}


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


def test_points_are_distinct_between_trials_and_equal_between_searches() -> None:
    first, second = World(config(asha())), World(config(asha()))
    run_search(first, loss, chaos=random.Random(1))
    run_search(second, loss, chaos=random.Random(2))
    assert {n: t.point for n, t in first.trials.items()} == {n: t.point for n, t in second.trials.items()}
    assert len({trial.point["lr"] for trial in first.trials.values()}) == 16


def test_a_grid_is_walked_from_its_end() -> None:
    world = World(config({"name": "grid", "max_concurrent_trials": 0}, GRID))
    world.begin()
    points = [world.trials[n].point for n in sorted(world.trials)]
    assert points[0] == {"a": 3, "b": "y"}
    assert points[-1] == {"a": 1, "b": "x"}


def bracket(
    max_trials: int = 16, initial: int = 4, targets: tuple[int, ...] = (1, 3, 9), divisor: float = 3
) -> StoppingBracket:
    made = StoppingBracket(targets, max_trials, initial, divisor)
    for trial in range(1, max_trials + 1):
        made.on_created(trial, 0)
    return made


def test_asha_keeps_the_best_of_those_seen_so_far() -> None:
    made = bracket()
    assert made.on_result(1, 0.5, 1).decide_at == 3  # alone: among the best max(floor(1/3), 1)
    assert made.on_result(2, 0.7, 1).stop
    assert made.on_result(3, 0.4, 1).decide_at == 3
    assert made.on_result(4, 0.45, 1).stop  # second of four, and floor(4/3) is one
    assert made.on_result(5, 0.6, 1).stop
    assert not made.on_result(6, 0.45, 1).stop  # second of six, and two are kept


def test_asha_places_an_equal_result_before_the_earlier_one() -> None:
    made = bracket()
    assert not made.on_result(1, 0.5, 1).stop
    assert not made.on_result(2, 0.5, 1).stop


def test_asha_lets_one_result_pass_several_rungs() -> None:
    made = bracket()
    decision = made.on_result(1, 0.5, 4)
    assert (decision.stop, decision.decide_at) == (False, 9)
    assert made.rungs() == [[0.5], [0.5], []]
    assert made.on_result(1, 0.5, 9).reached_max_time


def test_asha_ignores_results_before_the_rung_and_after_the_stop() -> None:
    made = bracket(targets=(2, 6))
    assert not made.on_result(1, 0.5, 1.5).counted
    assert made.on_result(1, 0.5, 2).counted
    assert made.on_result(2, 0.9, 2).stop
    assert not made.on_result(2, 0.1, 6).counted
    assert made.rungs() == [[0.5, 0.9], []]


def test_asha_gives_a_failed_trial_the_worst_place_of_its_rung_and_refills() -> None:
    made = bracket()
    made.plan_start()
    made.on_result(1, 0.5, 1)
    assert made.on_ended(1, TrialEnding.FAILED) == [StartTrial()]
    assert made.rungs() == [[0.5], [math.inf], []]
    assert made.on_ended(2, TrialEnding.CANCELLED) == [StartTrial()]
    assert made.rungs() == [[0.5, math.inf], [math.inf], []]


def test_asha_replaces_a_trial_that_leaves_early_without_error() -> None:
    made = bracket(max_trials=5, initial=4)
    made.plan_start()
    assert made.on_ended(1, TrialEnding.FINISHED) == [StartTrial()]
    assert made.on_ended(2, TrialEnding.FINISHED) == []
    assert made.rungs() == [[], [], []]


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=60),
    divisor=st.sampled_from([2, 3, 4, 2.5]),
)
def test_asha_never_stops_one_of_the_best_and_never_keeps_others(values: list[float], divisor: float) -> None:
    made = StoppingBracket((1, 4), len(values), len(values), divisor)
    seen: list[float] = []
    for trial, value in enumerate(values, 1):
        made.on_created(trial, 0)
        better = sum(other < value for other in seen)
        seen.append(value)
        kept = max(int(len(seen) / divisor), 1)
        assert made.on_result(trial, value, 1).stop == (better >= kept)


def test_a_hundred_thousand_trials_fit() -> None:
    made = StoppingBracket((1, 4, 16), 100_000, 16, 4)
    stops = 0
    for trial in range(1, 100_001):
        made.on_created(trial, 0)
        stops += made.on_result(trial, random.Random(trial).random(), 1).stop
    assert 60_000 < stops < 90_000

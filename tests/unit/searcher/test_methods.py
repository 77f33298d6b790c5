"""One contract for every search method, and the rules of ASHA one by one."""

import math
import random

import pytest
from hypothesis import given, settings, strategies as st

from muster.config import ExperimentConfig
from services.searcher.core.journal import fold, recompute, replay
from services.searcher.core.methods.asha import Bracket
from services.searcher.core.methods.port import Ending, Start
from services.searcher.core.search import Search
from tests.unit.searcher.world import SEED, World, adaptive, asha, config, median, run_search

GRID: dict[str, object] = {
    "a": {"type": "int", "minval": 1, "maxval": 3, "count": 3},
    "b": {"type": "categorical", "vals": ["x", "y"]},
}
MIXED: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64, "step": 8}},
}
METHODS: dict[str, tuple[dict[str, object], int, int, dict[str, object] | None]] = {
    "single": ({"name": "single"}, 1, 1, None),
    "random": ({"name": "random", "max_trials": 13, "max_concurrent_trials": 4}, 13, 4, None),
    "random without limit": ({"name": "random", "max_trials": 7, "max_concurrent_trials": 0}, 7, 7, None),
    "grid": ({"name": "grid", "max_concurrent_trials": 2}, 6, 2, GRID),
    "async_halving": (asha(), 16, 4, None),
    "async_halving of one rung": (asha(rungs=1), 16, 4, None),
    "async_halving without limit": (asha(concurrent=0), 16, 16, None),
    "adaptive_asha": (adaptive(), 16, 5, None),
    "adaptive_asha conservative": (adaptive(max_trials=30, mode="conservative"), 30, 5, None),
    "adaptive_asha with one slot": (adaptive(max_trials=20, mode="conservative", concurrent=1), 20, 1, None),
    "adaptive_asha of brackets": (adaptive(bracket_rungs=[1, 2, 2]), 16, 5, None),
    "async_halving by promotion": (asha(stop_once=False), 16, 4, None),
    "async_halving by promotion, one at a time": (asha(stop_once=False, concurrent=1), 16, 1, None),
    "adaptive_asha by promotion": (adaptive(stop_once=False), 16, 5, None),
    "median_stopping": (median(), 16, 4, None),
    "median_stopping of long intervals": (median(interval=5, grace_time=0), 16, 4, None),
    **{
        f"async_halving with {sampler}": (asha(sampler=sampler), 16, 4, MIXED)
        for sampler in ("quasi_random", "tpe", "nsga2")
    },
}
Chaos = st.builds(random.Random, st.integers(0, 10**6))


every_method = pytest.mark.parametrize("name", METHODS)


def case(name: str) -> tuple[ExperimentConfig, int, int]:
    searcher, trials, concurrent, space = METHODS[name]
    return config(searcher, space), trials, concurrent


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


@every_method
@settings(max_examples=12, deadline=None)
@given(
    chaos=Chaos, fails=st.sets(st.integers(1, 20), max_size=4), leaves=st.sets(st.integers(1, 20), max_size=4)
)
def test_contract(name: str, chaos: random.Random, fails: set[int], leaves: set[int]) -> None:
    """Every planned trial is made, whatever fails or leaves early; concurrency is kept; the end is reached; a replay agrees."""
    chosen, trials, concurrent = case(name)
    world = World(chosen)
    run_search(world, loss, chaos=chaos, max_step=70, fails=fails, leaves_early=leaves)
    assert len(world.trials) == trials == world.search.planned()
    assert world.most_open <= concurrent
    assert world.experiment.is_final
    assert world.search.is_exhausted
    assert replay(chosen, SEED, world.journal) is None
    assert [entry.position for entry in world.journal] == list(range(1, len(world.journal) + 1))


@every_method
@settings(max_examples=12, deadline=None)
@given(chaos=Chaos, cut=st.integers(0, 500))
def test_a_search_rebuilt_at_any_entry_has_the_same_future(name: str, chaos: random.Random, cut: int) -> None:
    chosen, _, _ = case(name)
    world = World(chosen)
    run_search(world, loss, chaos=chaos, max_step=70)
    rebuilt = Search(chosen, SEED)
    fold(rebuilt, world.journal[:cut])
    for entry in world.journal[cut:]:
        decided = recompute(rebuilt, entry)
        assert decided == {key: entry.facts[key] for key in decided}


@every_method
def test_progress_rises_to_the_end(name: str) -> None:
    chosen, _, _ = case(name)
    world = World(chosen)
    run_search(world, loss, chaos=random.Random(4), max_step=70)
    seen = [decision.experiment.progress for decision in world.decisions]
    assert seen == sorted(seen)
    assert all(0 <= share <= 1 for share in seen)
    assert seen[-1] == 1.0


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
) -> Bracket:
    made = Bracket(targets, max_trials, initial, divisor)
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
    ruling = made.on_result(1, 0.5, 4)
    assert (ruling.stop, ruling.decide_at) == (False, 9)
    assert made.rungs() == [[0.5], [0.5], []]
    assert made.on_result(1, 0.5, 9).at_top


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
    assert made.on_ended(1, Ending.FAILED) == [Start()]
    assert made.rungs() == [[0.5], [math.inf], []]
    assert made.on_ended(2, Ending.CANCELLED) == [Start()]
    assert made.rungs() == [[0.5, math.inf], [math.inf], []]


def test_asha_replaces_a_trial_that_leaves_early_without_error() -> None:
    made = bracket(max_trials=5, initial=4)
    made.plan_start()
    assert made.on_ended(1, Ending.FINISHED) == [Start()]
    assert made.on_ended(2, Ending.FINISHED) == []
    assert made.rungs() == [[], [], []]


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=60),
    divisor=st.sampled_from([2, 3, 4, 2.5]),
)
def test_asha_never_stops_one_of_the_best_and_never_keeps_others(values: list[float], divisor: float) -> None:
    made = Bracket((1, 4), len(values), len(values), divisor)
    seen: list[float] = []
    for trial, value in enumerate(values, 1):
        made.on_created(trial, 0)
        better = sum(other < value for other in seen)
        seen.append(value)
        kept = max(int(len(seen) / divisor), 1)
        assert made.on_result(trial, value, 1).stop == (better >= kept)


def test_a_hundred_thousand_trials_fit() -> None:
    made = Bracket((1, 4, 16), 100_000, 16, 4)
    stops = 0
    for trial in range(1, 100_001):
        made.on_created(trial, 0)
        stops += made.on_result(trial, random.Random(trial).random(), 1).stop
    assert 60_000 < stops < 90_000

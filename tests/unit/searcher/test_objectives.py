"""Several metrics and limits: which results count, what the front is, and that the samplers are told of all."""

import math
import random
from typing import Any

import optuna
import pytest
from hypothesis import given, strategies as st

from muster.config import load_config
from services.searcher.core.experiment.entities import ScoredValidation
from services.searcher.core.experiment.objectives import Objectives
from services.searcher.core.experiment.pareto import pareto_front, pareto_front_of
from services.searcher.core.experiment.states import ExperimentState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import fold, recompute, replay
from services.searcher.core.samplers import Observation, make_sampler
from services.searcher.core.samplers.drawing import Stream
from services.searcher.core.search.search import Search
from tests.unit.searcher.world import SEED, World, asha

SPACE = {name: {"type": "double", "minval": 0, "maxval": 1} for name in ("x", "y")}
TWO = [{"name": "loss"}, {"name": "accuracy", "smaller_is_better": False}]


def aimed(searcher: dict[str, Any]) -> Any:
    return load_config({"entrypoint": "true", "hyperparameters": SPACE, "searcher": searcher})


def started(**more: Any) -> World:
    searcher = {"name": "random", "max_trials": 3, "max_concurrent_trials": 3, **more}
    world = World(aimed(searcher if "metrics" in more else {"metric": "loss", **searcher}))
    world.begin()
    for number in (1, 2, 3):
        world.grant(number)
    return world


def best(world: World) -> tuple[int, int] | None:
    found = world.experiment.best
    return (found.trial, found.step) if found else None


@given(
    st.integers(1, 3).flatmap(
        lambda count: st.lists(st.tuples(*[st.integers(0, 4).map(float)] * count), max_size=30)
    )
)
def test_the_front_is_what_nothing_dominates(losses: list[tuple[float, ...]]) -> None:
    def dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    expected = {
        index for index, mine in enumerate(losses) if not any(dominates(other, mine) for other in losses)
    }
    front = pareto_front(losses)
    assert set(front) == expected and len(front) == len(expected)
    assert [losses[index] for index in front] == sorted(losses[index] for index in front)


def test_a_front_goes_by_directions_and_comes_best_first() -> None:
    objectives = Objectives.of(aimed({"name": "random", "max_trials": 3, "metrics": TWO}))
    bests = {
        1: ScoredValidation(5, 0.3, {"accuracy": 0.9}),
        2: ScoredValidation(5, 0.1, {"accuracy": 0.5}),
        3: ScoredValidation(5, 0.3, {"accuracy": 0.8}),
        4: ScoredValidation(7, 0.3, {"accuracy": 0.9}),
    }
    assert list(pareto_front_of(objectives, bests)) == [(0.1, 2), (0.3, 1), (0.3, 4)]


def test_the_best_is_the_best_within_the_limits() -> None:
    world = started(limits=["latency <= 20", "memory < 8"])
    world.validate(1, 1, 0.1, latency=21, memory=1)
    world.validate(2, 1, 0.2, latency=20, memory=8)
    assert best(world) is None and world.trials[1].best is None
    world.validate(3, 1, 0.9, latency=20, memory=7)
    assert best(world) == (3, 1)
    world.validate(1, 2, 0.3, latency=1, memory=1)
    assert best(world) == (1, 2)
    assert world.trials[1].best == ScoredValidation(2, 0.3, {"latency": 1, "memory": 1})


def test_the_second_metric_decides_between_equals_of_the_first() -> None:
    world = started(metrics=TWO)
    world.validate(1, 1, 0.5, accuracy=0.5)
    world.validate(2, 1, 0.5, accuracy=0.7)
    world.validate(3, 1, 0.5, accuracy=0.7)
    assert best(world) == (2, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_result_with_something_that_is_no_number_counts_for_nothing(bad: float) -> None:
    world = started(metrics=TWO, limits=["latency <= 20"])
    world.validate(1, 1, bad, accuracy=0.5, latency=1)
    world.validate(1, 2, 0.1, accuracy=bad, latency=1)
    world.validate(2, 1, 0.1, accuracy=0.5, latency=bad)
    assert best(world) is None
    world.validate(3, 1, 0.9, accuracy=0.1, latency=1)
    assert best(world) == (3, 1)


@pytest.mark.parametrize(
    ("more", "values", "reason"),
    [
        ({"metrics": TWO}, {}, "searcher.metrics[1] 'accuracy' is missing"),
        ({"limits": ["a < 1", "latency <= 20"]}, {"a": 0.0}, "'latency' of searcher.limits[1] is missing"),
    ],
)
def test_a_metric_that_a_report_lacks_ends_the_search_and_is_named(
    more: dict[str, Any], values: dict[str, float], reason: str
) -> None:
    world = started(**more)
    world.validate(2, 7, 0.5, **values)
    assert world.experiment.state is ExperimentState.STOPPING
    where = "from the validation of trial 2 at step 7, which reported"
    assert world.experiment.reason and world.experiment.reason.startswith(f"{reason} {where}")


def test_a_search_in_which_nothing_kept_to_the_limits_says_so() -> None:
    world = started(limits=["latency <= 20"])
    for number in (1, 2, 3):
        world.validate(number, 1, 0.5, latency=30)
        world.close(number, "completed")
    assert world.experiment.state is ExperimentState.ERROR
    assert world.experiment.reason == "no trial reported 'loss' within searcher.limits: latency <= 20"


def test_the_first_metric_ranks_where_trials_are_stopped() -> None:
    world = World(aimed(asha(metrics=TWO)))
    world.begin()
    for number, loss in ((1, 0.1), (2, 0.9)):
        world.grant(number)
        world.validate(number, 1, loss, accuracy=loss)
    assert [each.verdict for decision in world.decisions for each in decision.judged] == ["go_on", "stop"]


def measured(number: int, step: int) -> dict[str, float]:
    chance = random.Random(number * 1000 + step)
    return {"accuracy": chance.random(), "latency": 30 * chance.random()}


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2"])
@pytest.mark.parametrize("method", ["random", "async_halving"])
@pytest.mark.parametrize("metrics", [1, 2])
def test_a_search_is_rebuilt_from_its_journal_at_any_point(sampler: str, method: str, metrics: int) -> None:
    more = {"name": sampler, **({"population_size": 4} if sampler == "nsga2" else {"startup_trials": 4})}
    trials = 7 if sampler == "gp" else 18  # a model of `gp` takes longest to fit
    searcher = asha(max_trials=trials) if method == "async_halving" else {"max_trials": trials}
    chosen = aimed(
        {"max_concurrent_trials": 3, **searcher, "name": method, "sampler": more}
        | {"metrics": TWO[:metrics], "limits": ["latency <= 20", "loss < 5"]}
    )
    world = World(chosen)
    world.begin()
    chaos = random.Random(4)
    while trials_open := world.open():
        number = chaos.choice(trials_open).number
        trial = world.trials[number]
        if world.obey(number) is not None:
            continue
        if not trial.run:
            world.grant(number)
        step = trial.latest.step + 1 if trial.latest else 1
        world.validate(number, step, chaos.random(), **measured(number, step))
        if step == 3 and world.trials[number].is_open and method == "random":
            world.close(number, "failed" if number == 5 else "completed")
    assert world.experiment.state is ExperimentState.COMPLETED
    assert replay(chosen, SEED, world.journal) is None
    every = len(world.journal) // 3 if sampler == "gp" else 7
    for cut in range(every, len(world.journal), every):
        rebuilt = Search(chosen, SEED)
        fold(rebuilt, world.journal[:cut])
        for entry in world.journal[cut:]:
            recorded = Entry(entry.position, entry.kind, {**entry.facts, "created": []})
            assert recompute(rebuilt, recorded).get("created") == entry.facts.get("created")


def test_tpe_gives_the_very_points_of_optuna_driven_by_hand_with_two_metrics_and_a_limit() -> None:
    def values(x: float, y: float) -> tuple[float, float, float]:
        return x, (1 - x) ** 2 + y, x + y - 0.9

    def by_hand(seed: int) -> list[dict[str, Any]]:
        study = optuna.create_study(directions=["minimize", "minimize"])
        for trial in range(1, 31):
            study.sampler = optuna.samplers.TPESampler(seed=Stream(~seed, trial).seed())
            asked = study.ask()
            first, second, excess = values(*(asked.suggest_float(name, 0, 1) for name in ("x", "y")))
            asked.set_constraint("sum", excess)
            study.tell(asked, [first, second])
        return [each.params for each in study.trials]

    metrics = [{"name": "a"}, {"name": "b"}]
    searcher = {"name": "random", "max_trials": 30, "metrics": metrics, "limits": ["sum <= 0.9"]}
    sampler = make_sampler(aimed({**searcher, "sampler": "tpe"}), 9)
    points: list[Any] = []
    for trial in range(1, 31):
        points.append(sampler.propose(trial).point)
        first, second, excess = values(points[-1]["x"], points[-1]["y"])
        sampler.observe(trial, Observation(first, others=(second,), excesses=(excess,)))
    assert points == by_hand(9)


@pytest.mark.parametrize("sampler", ["tpe", "gp", "nsga2"])
def test_a_sampler_that_is_told_of_a_limit_keeps_to_it(sampler: str) -> None:
    """Both metrics pull to where the limit is missed."""
    trials = 12 if sampler == "gp" else 64

    def kept(*limits: str) -> int:
        more = {
            "name": sampler,
            **(
                {"population_size": 8}
                if sampler == "nsga2"
                else {"startup_trials": 6 if sampler == "gp" else 8}
            ),
        }
        searcher = {"name": "random", "max_trials": 99, "metrics": [{"name": "a"}, {"name": "b"}]}
        chosen = make_sampler(aimed({**searcher, "sampler": more, "limits": list(limits)}), 1)
        count = 0
        for trial in range(1, trials + 1):
            point: Any = chosen.propose(trial).point
            excess = point["x"] + point["y"] - 1
            excesses = (excess,) if limits else ()
            chosen.observe(trial, Observation(-point["x"], others=(-point["y"],), excesses=excesses))
            count += excess <= 0 and trial > trials // 2
        return count

    assert kept("s <= 1") >= 2 * kept() + 1

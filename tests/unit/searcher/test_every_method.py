"""What holds for every search method, whatever happens to its trials. A new method is a line of `METHODS`."""

import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from muster.config import ExperimentConfig, Point
from services.searcher.core.entities import Outcome
from services.searcher.core.journal import replay
from services.searcher.core.machines import ExperimentState, TrialState
from services.searcher.core.methods.custom import Operation, Verb
from services.searcher.core.search import Search
from services.searcher.core.state import state_of, take_up
from services.searcher.core.turn import Turn
from tests.unit.searcher.rungs import check_stops, left_behind
from tests.unit.searcher.world import (
    SEED,
    World,
    adaptive,
    asha,
    config,
    hyperband,
    median,
    pbt,
    run_search,
    stored,
)

MAX_STEP = 20
MIXED: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "step": 0.1, "when": {"optimizer": "sgd"}},
    "net": {"width": {"type": "int", "minval": 8, "maxval": 64, "step": 8}},
}
GRID: dict[str, object] = {
    "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1, "count": 2},
    "optimizer": {"type": "categorical", "vals": ["sgd", "adam"]},
    "momentum": {"type": "double", "minval": 0, "maxval": 0.9, "count": 2, "when": {"optimizer": "sgd"}},
    "net": {"width": 8},
}


AIMS: dict[str, Any] = {
    "metric": None,
    "smaller_is_better": None,
    "metrics": [{"name": "loss"}, {"name": "size", "smaller_is_better": False}],
    "limits": ["latency <= 0.7"],
}


@dataclass(frozen=True)
class Case:
    """A search: how many trials it makes in all, and how many at once; `program`: what is told of it at its beginning; `most`: of a search
    whose trials follow from its results, how many they may be."""

    searcher: dict[str, object]
    trials: int = 16
    concurrent: int = 4
    space: dict[str, object] | None = None
    program: tuple[Operation, ...] = ()
    most: int = 0

    @property
    def is_fixed(self) -> bool:
        """Whether there are no other points in the stead of invalid ones."""
        return self.searcher["name"] in ("single", "grid", "custom")

    def config(self) -> ExperimentConfig:
        return config(self.searcher, self.space or MIXED)

    def world(self) -> World:
        return World(self.config(), self.program)


TOLD = (*(Operation(Verb.CREATE, f"t{n}", until=5.0) for n in range(16)), Operation(Verb.SHUTDOWN))
WARM: dict[str, object] = {
    "points": [
        {"lr": 0.01, "optimizer": "sgd", "momentum": 0.3, "net": {"width": 16}},
        {"lr": 0.001, "optimizer": "adam", "net": {"width": 64}},
    ]
}
EARLY: dict[str, object] = {"name": "tpe", "startup_trials": 3}
"""It has a model as soon as three trials have reached the first rung."""
METHODS: dict[str, Case] = {
    "single": Case({"name": "single"}, 1, 1),
    "random": Case({"name": "random", "max_trials": 13, "max_concurrent_trials": 4}, 13),
    "random without limit": Case({"name": "random", "max_trials": 7, "max_concurrent_trials": 0}, 7, 7),
    "grid": Case({"name": "grid", "max_concurrent_trials": 2}, 6, 2, GRID),
    "async_halving": Case(asha()),
    "async_halving of one rung": Case(asha(rungs=1)),
    "async_halving without limit": Case(asha(concurrent=0), 16, 16),
    "adaptive_asha": Case(adaptive(max_time=16), 16, 5),
    "adaptive_asha conservative": Case(adaptive(max_time=16, max_trials=30, mode="conservative"), 30, 5),
    "adaptive_asha with one slot": Case(
        adaptive(max_time=16, max_trials=20, mode="conservative", concurrent=1), 20, 1
    ),
    "adaptive_asha of brackets": Case(adaptive(max_time=16, bracket_rungs=[1, 2, 2]), 16, 5),
    "async_halving by promotion": Case(asha(stop_once=False)),
    "async_halving by promotion, one at a time": Case(asha(stop_once=False, concurrent=1), 16, 1),
    "adaptive_asha by promotion": Case(adaptive(max_time=16, stop_once=False), 16, 5),
    "median_stopping": Case(median()),
    "custom": Case({"name": "custom", "max_concurrent_trials": 4}, program=TOLD),
    "custom with tpe": Case({"name": "custom", "max_concurrent_trials": 4, "sampler": "tpe"}, program=TOLD),
    "median_stopping of long intervals": Case(median(interval=5, grace_time=0)),
    "async_halving begun warm": Case(asha(warm_start=WARM, sampler="tpe")),
    "async_halving by promotion, begun warm": Case(asha(stop_once=False, warm_start=WARM)),
    "async_halving by promotion, with tpe": Case(asha(stop_once=False, sampler=EARLY)),
    "hyperband": Case(hyperband(), 17),
    "hyperband of long rungs": Case(hyperband(max_time=60, min_time=8, divisor=2.5, concurrent=3), 14, 3),
    "pbt": Case(pbt(), 5, 5, most=20),
    "pbt by turns": Case(pbt(concurrent=2), 5, 2, most=20),
    **{f"async_halving with {name}": Case(asha(sampler=name)) for name in ("quasi_random", "nsga2")},
    "async_halving with tpe": Case(asha(sampler=EARLY)),
    "median_stopping with tpe, two metrics and a limit": Case(median(sampler="tpe", **AIMS)),
    "async_halving with nsga2, two metrics and a limit": Case(asha(sampler="nsga2", **AIMS)),
}
LEARNING = tuple(name for name, case in METHODS.items() if "sampler" in case.searcher)
"""Searches whose samplers keep a model, or a sequence: only their journals give that back."""
BY_STOPPING = (
    "async_halving", "async_halving of one rung", "async_halving without limit",
    "adaptive_asha", "adaptive_asha conservative", "adaptive_asha with one slot",
    "async_halving with nsga2, two metrics and a limit",
)  # fmt: skip
BY_PROMOTION = (
    "async_halving by promotion", "async_halving by promotion, one at a time", "adaptive_asha by promotion",
)  # fmt: skip

every_method = pytest.mark.parametrize("name", METHODS)


@dataclass(frozen=True)
class Story:
    """What happens: the order of events, trials that end early and how, and those whose loss is no number."""

    seed: int
    fates: Mapping[int, Outcome]
    lost: frozenset[int]

    def loss(self, trial: int, step: int) -> float:
        return math.nan if trial in self.lost else math.sin(trial * 12.9898 + self.seed) + 1 / step

    def happen(self, world: World, between: Callable[[World], object] = lambda world: None) -> World:
        run_search(
            world, self.loss, chaos=random.Random(self.seed), max_step=MAX_STEP, fates=self.fates,
            restarts=0.02, saves_every=2 * (world.config.searcher.name == "pbt"), between=between,
        )  # fmt: skip
        return world


NUMBERS = st.integers(1, 20)
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from(["failed", "completed", "cancelled", "invalid"])
STORIES = st.builds(
    Story, st.integers(0, 10**6), st.dictionaries(NUMBERS, OUTCOMES, max_size=5), st.frozensets(NUMBERS)
)
CHANCE = st.builds(random.Random, st.integers(0, 10**6))


@every_method
@settings(max_examples=12, deadline=None)
@given(story=STORIES)
def test_a_search_makes_its_trials_and_no_more_keeps_its_limits_and_ends(name: str, story: Story) -> None:
    case, world = METHODS[name], METHODS[name].world()
    story.happen(world)
    assert sorted(world.trials) == list(range(1, made_by(case, world) + 1))
    assert world.search.planned() == made_by(case, world) - replaced(case, world)
    assert world.most_open <= case.concurrent
    assert world.search.is_exhausted
    assert all(is_in_space(trial.point, name) for trial in world.trials.values())
    assert all(trial.is_final for trial in world.trials.values())
    assert world.experiment.state is end_by_the_rules(world)


@every_method
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), outcome=OUTCOMES)
def test_the_end_is_reached_though_every_trial_ends_early(name: str, seed: int, outcome: Outcome) -> None:
    world = METHODS[name].world()
    Story(seed, dict.fromkeys(range(1, 100), outcome), frozenset(range(1, 100, 2))).happen(world)
    assert len(world.trials) == made_by(METHODS[name], world)
    assert world.experiment.state is end_by_the_rules(world)


@every_method
@settings(max_examples=10, deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_a_search_that_is_rebuilt_at_any_event_has_the_same_future(
    name: str, story: Story, chance: random.Random
) -> None:
    def restart(world: World) -> None:
        if chance.random() < 0.05:
            world.restart()

    whole = story.happen(METHODS[name].world())
    broken = story.happen(METHODS[name].world(), restart)
    assert broken.journal == whole.journal
    assert broken.trials == whole.trials
    assert broken.experiment == whole.experiment


@every_method
@settings(max_examples=8, deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_a_search_that_takes_up_its_saved_state_at_any_event_has_the_same_future(
    name: str, story: Story, chance: random.Random
) -> None:
    def take_up_state(world: World) -> None:
        if chance.random() < 0.05 and (state := state_of(world.search)) is not None:
            world.search = Search(world.config, SEED)
            take_up(world.search, json.loads(json.dumps(state)))

    broken = story.happen(METHODS[name].world(), take_up_state)
    assert (state_of(broken.search) is None) == (name in LEARNING)
    assert broken.journal == story.happen(METHODS[name].world()).journal


@every_method
@settings(max_examples=6, deadline=None)
@given(story=STORIES)
def test_a_replay_decides_the_same_and_positions_have_no_gap(name: str, story: Story) -> None:
    world = story.happen(METHODS[name].world())
    assert [entry.position for entry in world.journal] == list(range(1, len(world.journal) + 1))
    assert replay(world.config, SEED, stored(world.journal)) is None


@every_method
@settings(max_examples=8, deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_what_is_told_again_changes_nothing(name: str, story: Story, chance: random.Random) -> None:
    def tell_again(world: World) -> None:
        if world.events and chance.random() < 0.2:
            number, act = chance.choice(world.events)
            experiment, trials, said = world.experiment, world.trials, len(world.journal)
            decision = world.turn(act, number)
            world.events.pop()
            assert not (decision.wanted or decision.changed or decision.judged or decision.is_announced)
            assert (world.experiment, len(world.journal)) == (experiment, said)
            assert {n: t._replace(dirty=False) for n, t in world.trials.items()} == {
                n: t._replace(dirty=False) for n, t in trials.items()
            }

    story.happen(METHODS[name].world(), tell_again)


@every_method
@settings(max_examples=6, deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_pauses_of_a_person_change_neither_limits_nor_end(
    name: str, story: Story, chance: random.Random
) -> None:
    def pause_or_resume(world: World) -> None:
        state = world.experiment.state
        if state is ExperimentState.PAUSED and (not world.open() or chance.random() < 0.2):
            world.turn(Turn.resume)
        elif state is ExperimentState.ACTIVE and chance.random() < 0.03:
            world.turn(Turn.pause)

    case, world = METHODS[name], METHODS[name].world()
    story.happen(world, pause_or_resume)
    assert len(world.trials) == made_by(case, world) and world.most_open <= case.concurrent
    assert world.experiment.state is end_by_the_rules(world)
    assert replay(world.config, SEED, stored(world.journal)) is None


@every_method
@settings(max_examples=6, deadline=None)
@given(story=STORIES)
def test_progress_rises_to_one_and_counts_trials_not_made_yet(name: str, story: Story) -> None:
    world, seen = METHODS[name].world(), [0.0]

    def watch(world: World) -> None:
        seen.append(world.experiment.progress)
        assert seen[-2] <= seen[-1] <= 1.0
        assert seen[-1] < 1.0 or len(world.trials) >= METHODS[name].trials

    story.happen(world, watch)
    assert seen[1] == 0.0
    assert world.experiment.progress == 1.0 or world.experiment.state is not ExperimentState.COMPLETED


@pytest.mark.parametrize("name", BY_STOPPING)
@settings(max_examples=12, deadline=None)
@given(story=STORIES)
def test_the_best_of_a_rung_are_never_stopped_and_others_never_kept(name: str, story: Story) -> None:
    world = story.happen(METHODS[name].world())
    assert check_stops(world.config, world.journal) >= 1


@pytest.mark.parametrize("name", BY_PROMOTION)
@settings(max_examples=12, deadline=None)
@given(story=STORIES)
def test_the_best_of_a_rung_are_never_left_behind(name: str, story: Story) -> None:
    world = story.happen(METHODS[name].world())
    assert left_behind(world.config, world.journal) == []


def is_in_space(point: Point, name: str) -> bool:
    given_point: Any = point
    if name == "single":
        return bool(given_point == {"lr": 0.1})
    takes_part = given_point["optimizer"] == "sgd"
    return bool(
        1e-4 <= given_point["lr"] <= 1e-1
        and given_point["optimizer"] in ("sgd", "adam")
        and ("momentum" in given_point) == takes_part
        and (not takes_part or any(math.isclose(given_point["momentum"], n / 10) for n in range(10)))
        and given_point["net"]["width"] in range(8, 65, 8)
    )


def made_by(case: Case, world: World) -> int:
    """How many trials there are in the end: invalid ones are replaced and not counted, copies come as results have it."""
    made = case.trials + replaced(case, world)
    if not case.most:
        return made
    copies = sum(trial.source is not None for trial in world.trials.values())
    assert made <= len(world.trials) <= made + copies + ends_early(world)
    assert len(world.trials) - replaced(case, world) <= case.most
    return len(world.trials)


def replaced(case: Case, world: World) -> int:
    """How many invalid trials there were, in the stead of which others came."""
    invalid = sum(trial.state is TrialState.INVALID for trial in world.trials.values())
    return 0 if case.is_fixed else invalid


def ends_early(world: World) -> int:
    """How many trials ended before their time: in a population a new point comes after one where nothing can be copied."""
    return sum(trial.state is not TrialState.STOPPED for trial in world.trials.values())


def end_by_the_rules(world: World) -> ExperimentState:
    """One good trial with a finite loss makes a search completed; else it is an error, or cancelled where all of its trials were."""
    states = {trial.state for trial in world.trials.values()}
    if states & {TrialState.COMPLETED, TrialState.STOPPED}:
        is_known = world.experiment.best is not None or world.config.searcher.name == "single"
        return ExperimentState.COMPLETED if is_known else ExperimentState.ERROR
    return (
        ExperimentState.ERROR
        if states & {TrialState.ERROR, TrialState.INVALID}
        else ExperimentState.CANCELLED
    )

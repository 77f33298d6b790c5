"""Trials whose scripts call their hyperparameters invalid: replaced, counted nowhere, and borne only so long."""

import random

import pytest
from hypothesis import given, strategies as st

from services.searcher.core.experiment.entities import Outcome
from services.searcher.core.experiment.states import TrialState
from services.searcher.core.search.invalid_trials import MAX_INVALID_IN_A_ROW, InvalidTrials
from tests.unit.searcher.cases import GRID
from tests.unit.searcher.world import World, asha, config, median, run_search

INVALID: dict[int, Outcome] = dict.fromkeys(range(1, 1000), "invalid")


def loss(trial: int, step: int) -> float:
    return trial + 1 / step


def states(world: World) -> dict[str, int]:
    found = [trial.state.value for trial in world.trials.values()]
    return {state: found.count(state) for state in set(found)}


@pytest.mark.parametrize(
    "searcher", [asha(), asha(stop_once=False), median(grace_time=0, interval=1, min_trials=1)]
)
def test_an_invalid_trial_leaves_no_mark_on_those_that_stay(searcher: dict[str, object]) -> None:
    """Trial 1 would be the best of all; once it is invalid, the others are judged as if it had never been."""
    with_it, without = World(config(searcher)), World(config(searcher))
    for world in (with_it, without):
        world.begin()
        for number in (1, 2, 3, 4):
            world.grant(number)
    with_it.validate(1, 1, -100.0)
    for world in (with_it, without):
        world.close(1, "invalid")
        for number, value in ((2, 0.5), (3, 0.4), (4, 0.6)):
            world.validate(number, 1, value)
    for number in (2, 3, 4):
        assert with_it.trials[number].desired_state is without.trials[number].desired_state


def test_a_space_in_which_nothing_is_valid_ends_as_an_error_that_says_so() -> None:
    world = World(config({"name": "random", "max_trials": 16, "max_concurrent_trials": 4}))
    run_search(world, loss, chaos=random.Random(2), fates=INVALID)
    assert world.experiment.state == "error"
    most = 16 + MAX_INVALID_IN_A_ROW
    assert most <= len(world.trials) <= 2 * most
    assert "trials in a row reported invalid hyperparameters" in (world.experiment.reason or "")


def test_a_search_that_gives_up_keeps_what_is_good() -> None:
    world = World(config({"name": "random", "max_trials": 4, "max_concurrent_trials": 2}))
    fates = {number: outcome for number, outcome in INVALID.items() if number > 2}
    run_search(world, loss, chaos=random.Random(2), max_step=5, fates=fates)
    assert world.experiment.state == "completed" and world.experiment.best is not None
    assert "trials in a row reported invalid" in (world.experiment.reason or "")
    assert states(world)["invalid"] == len(world.trials) - 2


@pytest.mark.parametrize("late", [1, 2])
def test_a_best_that_turns_out_to_be_invalid_gives_way_to_the_next(late: int) -> None:
    """Also where it is the last to end."""
    world = World(config({"name": "random", "max_trials": 2, "max_concurrent_trials": 2}))
    world.begin()
    for number, value in ((1, 0.5), (2, 0.7)):
        world.grant(number)
        world.validate(number, 1, -1.0 if number == late else value)
    assert world.experiment.best is not None and world.experiment.best.trial == late
    other = 3 - late
    world.close(other, "completed")
    world.close(late, "invalid")
    best = world.experiment.best
    assert (best.trial, best.value) == (other, {1: 0.5, 2: 0.7}[other])
    assert world.trials[late].best is None
    world.close(3, "invalid")
    assert world.experiment.best == best


def test_a_search_whose_only_result_was_invalid_has_no_best_and_is_an_error() -> None:
    world = World(config({"name": "single"}))
    world.begin()
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "invalid")
    assert (world.experiment.state, world.experiment.best) == ("error", None)
    assert (world.experiment.reason or "").startswith("every trial reported invalid hyperparameters")


def test_a_grid_of_invalid_points_is_walked_once() -> None:
    world = World(config({"name": "grid", "max_concurrent_trials": 2}, GRID))
    run_search(world, loss, chaos=random.Random(2), fates=INVALID)
    assert (world.experiment.state, len(world.trials)) == ("error", 6)
    assert (world.experiment.reason or "").startswith("every trial reported invalid hyperparameters")


def test_a_trial_that_was_stopped_before_it_said_so_keeps_its_place() -> None:
    world = World(config(asha()))
    world.begin()
    for number in (1, 2):
        world.grant(number)
        world.validate(number, 1, 0.5 + number)
    assert world.trials[2].desired_state == "stop"
    world.close(2, "invalid")
    assert world.trials[2].state is TrialState.STOPPED


@given(st.permutations(range(1, 12)), st.sets(st.integers(1, 11)))
def test_a_row_is_as_long_as_its_neighbours_reach(order: list[int], invalid: set[int]) -> None:
    rows = InvalidTrials()
    seen: set[int] = set()
    for trial in order:
        if trial in invalid:
            seen.add(trial)
            low = high = trial
            while low - 1 in seen:
                low -= 1
            while high + 1 in seen:
                high += 1
            assert rows.add(trial, 16) == high - low + 1

"""Hyperband: its brackets are the paper's, and the trials that go on are those of the synchronous algorithm, whatever the order of events."""

import random

import pytest
from hypothesis import given, settings, strategies as st

from muster.config.brackets import bracket_sizes
from muster.errors import Rejected
from services.searcher.core.experiment.states import TrialState
from tests.unit.searcher.world import World, config, hyperband, run_search


def test_the_brackets_are_those_of_the_paper() -> None:
    assert bracket_sizes(81, 1, 3) == ((81, 27, 9, 3, 1), (34, 11, 3, 1), (15, 5, 1), (8, 2), (5,))
    assert bracket_sizes(1000, 1, 10)[0] == (1000, 100, 10, 1), "a logarithm that floats get wrong"


def synchronous(losses: dict[int, list[float]], sizes: tuple[int, ...], first: int) -> dict[int, int]:
    """Algorithm 1's inner loop: for each trial of a bracket whose trials are numbered from `first`, the rungs that it comes to."""
    alive = list(range(first, first + sizes[0]))
    reached = dict.fromkeys(alive, 0)
    for rung, size in enumerate(sizes[1:]):
        alive = sorted(alive, key=lambda trial: (losses[trial][rung], trial))[:size]
        reached |= dict.fromkeys(alive, rung + 1)
    return reached


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), places=st.integers(1, 30))
def test_whatever_the_order_those_go_on_that_the_synchronous_algorithm_chooses(
    seed: int, places: int
) -> None:
    sizes = bracket_sizes(27, 1, 3)
    chance = random.Random(seed)
    losses = {trial: [chance.random() for _ in range(4)] for trial in range(1, 60)}
    world = World(config(hyperband(max_time=27, concurrent=places)))
    targets = {
        bracket: [27 // 3 ** (len(s) - 1 - i) for i in range(len(s))] for bracket, s in enumerate(sizes)
    }
    world.begin()
    run_search(world, lambda trial, step: losses[trial][[1, 3, 9, 27].index(step)] if step in (1, 3, 9, 27) else 9.0,
               chaos=chance)  # fmt: skip
    first = {trial.decide_at for trial in world.trials.values()}
    assert first == {None}
    came = {number: trial.latest.step for number, trial in world.trials.items() if trial.latest}
    brackets: dict[int, list[int]] = {}
    for entry in world.journal:
        created = entry.facts.get("created")
        for each in created if isinstance(created, list) else []:
            assert isinstance(each, dict)
            bracket = next(b for b, t in targets.items() if t[0] == each["decide_at"])
            brackets.setdefault(bracket, []).append(int(str(each["trial"])))
    for bracket, members in brackets.items():
        numbered = {place: losses[trial] for place, trial in enumerate(members)}
        shifted = {place: values[-len(sizes[bracket]) :] for place, values in numbered.items()}
        reached = synchronous(shifted, sizes[bracket], 0)
        assert [came[trial] for trial in members] == [
            targets[bracket][reached[p]] for p in range(len(members))
        ]


def test_a_loser_ends_at_once_and_who_may_still_win_pauses() -> None:
    world = World(config(hyperband(max_time=9, concurrent=20)))
    world.begin()
    for number in range(1, 10):
        world.grant(number)
    for number, loss in ((1, 0.5), (2, 0.1), (3, 0.2), (4, 0.3)):
        world.validate(number, 1, loss)
    assert [world.decisions[-back].judged[0].verdict for back in (4, 3, 2, 1)] == ["pause"] * 4
    world.validate(5, 1, 0.9)
    assert world.decisions[-1].judged[0].verdict == "stop", "three of nine go on, and three are better"


def test_more_trials_lost_than_go_on_leave_a_bracket_that_still_ends() -> None:
    world = World(config(hyperband(max_time=9, concurrent=20)))
    world.begin()
    for number in range(1, 9):
        world.grant(number)
        world.close(number, "failed")
    run_search(world, lambda trial, step: trial / step, chaos=random.Random(1))
    assert len(world.trials) == 17
    assert world.trials[9].state is TrialState.COMPLETED, "the one left of nine comes to the top"


def test_too_many_trials_and_a_least_time_beyond_the_most_are_refused_with_the_key() -> None:
    with pytest.raises(Rejected, match="min_time") as found:
        config(hyperband(max_time=1_000_000))
    assert "more than 100000" in str(found.value)
    with pytest.raises(Rejected, match="at most max_time"):
        config(hyperband(max_time=9, min_time=10))

"""What samplers hear of trials that still run: what they had come to at rungs, and what a search begun under older rules goes by."""

from typing import Any

import pytest

from muster.config import ExperimentConfig, Point
from services.searcher.core.experiment.objectives import Scores
from services.searcher.core.methods.interface import RULES_VERSION, TrialEnding
from services.searcher.core.samplers import Observation, RungResult, Sampler, make_sampler
from services.searcher.core.search.actions import SearchActions
from services.searcher.core.search.search import Search
from tests.unit.searcher.world import SEED, adaptive, asha, config, hyperband

SPACE: dict[str, object] = {
    "x": {"type": "double", "minval": -3, "maxval": 3},
    "y": {"type": "double", "minval": -3, "maxval": 3},
}


def of(sampler: str) -> ExperimentConfig:
    return config(asha(40, concurrent=8, sampler={"name": sampler, "startup_trials": 5}), SPACE)


def value(point: Point) -> float:
    """Good is on the right, best at 3."""
    return 3.0 - float(str(point["x"]))


def right(sampler: Sampler, first: int, count: int) -> int:
    return sum(value(sampler.propose(trial).point) < 3.0 for trial in range(first, first + count))


def test_who_goes_on_past_a_rung_teaches_before_it_ends() -> None:
    sampler = make_sampler(of("tpe"), 3)
    for trial in range(1, 13):
        loss = value(sampler.propose(trial).point)
        sampler.reach(trial, RungResult(1.0, loss, continues=loss < 2.5))
        if loss >= 2.5:
            sampler.observe(trial, Observation(loss, 1.0))
    assert right(sampler, 13, 24) >= 16


def test_the_highest_rung_that_enough_have_reached_is_gone_by() -> None:
    """What the lower rung says of these trials is the contrary."""
    sampler = make_sampler(of("tpe"), 4)
    for trial in range(1, 33):
        loss = value(sampler.propose(trial).point)
        sampler.reach(trial, RungResult(1.0, -loss, continues=True))
        if trial % 2:
            sampler.reach(trial, RungResult(3.0, loss, continues=False))
    assert right(sampler, 33, 24) >= 12


def test_a_trial_that_pauses_and_goes_on_counts_at_both_rungs() -> None:
    sampler = make_sampler(of("tpe"), 4)
    for trial in range(1, 9):
        sampler.reach(trial, RungResult(1.0, value(sampler.propose(trial).point), continues=False))
    for trial in range(1, 9):
        sampler.reach(trial, RungResult(3.0, 1.0, continues=False))
        sampler.observe(trial, Observation(1.0))
    sampler.propose(9)


def test_a_search_begun_under_older_rules_goes_by_ends_alone() -> None:
    """Its points are those of a sampler that never hears of a rung; under the rules of now they come to be others."""
    old, new = Driven(of("tpe"), rules=1), Driven(of("tpe"), rules=RULES_VERSION)
    alone = make_sampler(of("tpe"), SEED)
    for driven in (old, new):
        driven.play()
    for what, trial, reached in old.observed:
        if what == "proposed":
            assert alone.propose(trial).point == old.points[trial]
        else:
            alone.observe(trial, reached)
    assert old.points != new.points and old.points[8] == new.points[8]


@pytest.mark.parametrize(
    "searcher",
    [
        adaptive(30, 16, 6, sampler={"name": "tpe", "startup_trials": 4}),
        hyperband(sampler={"name": "tpe", "startup_trials": 4}),
    ],
    ids=["adaptive_asha", "hyperband"],
)
def test_every_way_to_halve_tells_of_its_rungs(searcher: dict[str, Any]) -> None:
    new, old = (Driven(config(searcher, SPACE), rules) for rules in (RULES_VERSION, 1))
    for driven in (old, new):
        driven.play()
    assert new.points != old.points


class Driven:
    """A search whose trials train in turns, each a step, and end when they are told to or pause."""

    def __init__(self, chosen: ExperimentConfig, rules: int) -> None:
        self.search = Search(chosen, SEED)
        self.points: dict[int, Point] = {}
        self.observed: list[tuple[str, int, Any]] = []
        self.running: dict[int, int] = {}
        self.steps: dict[int, int] = {}
        self.take(self.search.start(rules=rules))

    def play(self) -> None:
        while self.running:
            trial = min(self.running, key=lambda each: (self.running[each], each))
            self.running[trial] += 1
            self.steps[trial] = step = self.steps.get(trial, 0) + 1
            loss = value(self.points[trial])
            decision = self.search.judge(trial, loss, step)
            if decision.pause:
                del self.running[trial]
                self.take(self.search.on_parked(trial))
            elif decision.stop:
                del self.running[trial]
                self.search.observe(trial, Scores(loss))
                self.observed.append(
                    ("ended", trial, Observation(loss, None if decision.reached_max_time else float(step)))
                )
                self.take(self.search.on_ended(trial, TrialEnding.FINISHED))

    def take(self, actions: SearchActions) -> None:
        now = min(self.running.values(), default=0)
        for made in actions.created:
            self.points[made.number] = made.point
            self.observed.append(("proposed", made.number, None))
        for number in (*(made.number for made in actions.created), *(each.trial for each in actions.resumed)):
            self.running[number] = now

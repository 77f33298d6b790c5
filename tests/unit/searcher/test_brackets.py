"""Brackets of `adaptive_asha` take their places in turn: the one of most rungs first, and no place stands idle while trials are left."""

import random

import pytest
from pydantic import JsonValue

from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import replay
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.search.actions import SearchActions
from services.searcher.core.search.search import Search
from tests.unit.searcher.world import SEED, adaptive, config

CONCURRENT, TRIALS = 5, 60
SEARCHER = adaptive(max_trials=TRIALS, concurrent=CONCURRENT)
FIRST_RUNGS = [4.0, 16.0]
"""Where the brackets of three and of two rungs first decide."""


def test_the_bracket_of_most_rungs_begins_alone() -> None:
    assert [made.decide_at for made in Search(config(SEARCHER), SEED).start().created] == [4.0] * CONCURRENT


@pytest.mark.parametrize("stop_once", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_place_stands_idle_while_trials_are_left(stop_once: bool, seed: int) -> None:
    chosen, chance = config({**SEARCHER, "stop_once": stop_once}), random.Random(seed)
    search, due = Search(chosen, SEED), dict[int, float]()
    started: list[float] = []

    def take(actions: SearchActions) -> None:
        due.update({made.number: made.decide_at or 0.0 for made in actions.created})
        due.update({step.trial: step.decide_at or 0.0 for step in actions.resumed})
        started.extend(made.decide_at or 0.0 for made in actions.created)

    take(search.start())
    while due:
        assert search.open == CONCURRENT or search.created == TRIALS
        trial = chance.choice(sorted(due))
        decision = search.judge(trial, chance.random(), due[trial])
        if decision.decide_at is not None:
            due[trial] = decision.decide_at
            continue
        del due[trial]
        take(search.on_parked(trial) if decision.pause else search.on_ended(trial, TrialEnding.FINISHED))
    assert search.is_exhausted
    assert started == sorted(started) and set(started) == set(FIRST_RUNGS)


def test_a_journal_from_before_goes_on_with_brackets_apart() -> None:
    chosen = config(SEARCHER)
    search = Search(chosen, SEED)
    started = search.start(rules=0)
    assert {made.decide_at for made in started.created} == set(FIRST_RUNGS)
    ended = search.on_ended(1, TrialEnding.FINISHED)
    journal = [
        Entry(1, "started", {"created": _written(started)}),
        Entry(2, "ended", {"trial": 1, "ending": "finished", "created": _written(ended)}),
    ]
    assert replay(chosen, SEED, journal) is None


def _written(actions: SearchActions) -> list[JsonValue]:
    return [
        {"trial": each.number, "hyperparameters": each.point, "seed": each.seed, "decide_at": each.decide_at}
        for each in actions.created
    ]

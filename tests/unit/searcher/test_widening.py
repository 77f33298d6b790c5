"""Searches grow while slots stand idle, and shrink by not going on."""

import pytest

from services.searcher.core.journal.replay import replay
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.reducers.limits import widen
from services.searcher.core.search.actions import SearchActions
from services.searcher.core.search.search import Search
from services.searcher.core.search.widening import Idle, choose_limit
from tests.unit.searcher.world import SEED, World, adaptive, asha, config, median

RANDOM: dict[str, object] = {"name": "random", "max_trials": 20, "max_concurrent_trials": 2}


@pytest.mark.parametrize(
    ("keys", "open_trials", "idle", "limit"),
    [
        ({"widen_to": 6}, 2, Idle(3, 0), 5),
        ({"widen_to": 6}, 2, Idle(30, 0), 6),
        ({"widen_to": 6}, 5, Idle(0, 0), 5),
        ({"widen_to": 6}, 5, Idle(3, 1), 2),
        ({"widen_to": 6}, 1, Idle(0, 0), 2),
        ({"widen_to": 6, "widen_max_price": 2.0}, 2, Idle(3, 0, price_per_slot_hour=2.0), 5),
        ({"widen_to": 6, "widen_max_price": 2.0}, 5, Idle(3, 0, price_per_slot_hour=2.5), 2),
        ({"widen_to": 6, "widen_max_price": 0.0}, 2, Idle(3, 0), 5),
        ({"widen_to": 6}, 2, Idle(3, 0, price_per_slot_hour=2.5), 5),
        ({}, 2, Idle(9, 0), None),
        ({"widen_to": 6, "max_concurrent_trials": 0}, 2, Idle(9, 0), None),
    ],
)
def test_as_many_more_as_idle_slots_hold_while_nobody_waits_and_they_are_cheap_enough(
    keys: dict[str, object], open_trials: int, idle: Idle, limit: int | None
) -> None:
    chosen = config({**RANDOM, **keys})
    assert choose_limit(chosen, Search(chosen, SEED).concurrent, open_trials, idle) == limit


@pytest.mark.parametrize(
    "searcher",
    [
        RANDOM,
        asha(concurrent=2),
        adaptive(concurrent=2),
        median(concurrent=2),
        asha(concurrent=2, stop_once=False),
    ],
)
def test_every_method_makes_more_at_once_and_no_more_in_all(searcher: dict[str, object]) -> None:
    search = Search(config(searcher), SEED)
    made = [proposal.number for proposal in search.start().created]
    assert len(made) == 2
    made += [proposal.number for proposal in search.widen(5).created]
    assert len(made) == search.open == 5
    assert search.widen(2) == SearchActions()
    for number in range(1, 4):
        assert search.on_ended(number, TrialEnding.FINISHED) == SearchActions(), "more are open than may be"
    ended = 3
    made += [proposal.number for proposal in search.widen(100).created]
    while ended < len(made):
        ended += 1
        made += [proposal.number for proposal in search.on_ended(ended, TrialEnding.FINISHED).created]
    assert made == list(range(1, search.planned() + 1))
    assert search.is_exhausted


def test_a_widened_search_is_repeated_by_its_journal() -> None:
    world = World(config({**RANDOM, "widen_to": 6}))
    world.begin()
    world.apply(lambda changes: widen(changes, Idle(3, 0)))
    assert len(world.trials) == 5
    world.apply(lambda changes: widen(changes, Idle(0, 2)))
    assert replay(world.config, SEED, world.journal) is None
    assert [entry.kind for entry in world.journal] == ["started", "widened", "widened"]

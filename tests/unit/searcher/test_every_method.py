"""What holds for every search method, whatever happens to its trials."""

import json
import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import example, given, settings

from muster.config import Point
from services.searcher.core.experiment.states import ExperimentState, TrialState
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import replay
from services.searcher.core.reducers.commands import pause, resume
from services.searcher.core.search.search import Search
from services.searcher.core.search.state import restore_state, save_state
from tests.support.drill_share import examples
from tests.unit.searcher.cases import (
    BY_PROMOTION,
    BY_STOPPING,
    CHANCE,
    ENDS,
    LEARNING,
    METHODS,
    STORIES,
    Case,
    Story,
    every_method,
)
from tests.unit.searcher.rungs import check_stops, left_behind
from tests.unit.searcher.world import (
    SEED,
    World,
    stored,
)


@every_method
@settings(max_examples=examples(4, 30), deadline=None)
@given(story=STORIES)
@example(story=Story(7, {}, frozenset()))
def test_whatever_happens_a_search_keeps_its_rules_and_ends(name: str, story: Story) -> None:
    """Its trials and no more, its limits, progress that only rises, the rule of its rungs, no more places at a time than it had, and a journal that
    decides the same again. What is told again changes nothing."""
    case, world, seen = METHODS[name], METHODS[name].world(), [0.0]
    again = now_and_then(random.Random(story.seed), tell_again, 0.2)

    def watch(world: World) -> None:
        seen.append(world.experiment.progress)
        assert seen[-2] <= seen[-1] <= 1.0
        assert seen[-1] < 1.0 or len(world.trials) >= case.trials
        again(world)

    story.happen(world, watch)
    assert seen[1] == 0.0
    assert world.experiment.progress == 1.0 or world.experiment.state is not ExperimentState.COMPLETED
    assert sorted(world.trials) == list(range(1, made_by(case, world) + 1))
    assert world.search.planned() == made_by(case, world) - replaced(case, world)
    assert world.most_open <= case.concurrent
    assert world.search.is_exhausted
    assert all(is_in_space(trial.point) for trial in world.trials.values())
    assert all(trial.is_final for trial in world.trials.values())
    assert world.experiment.state is end_by_the_rules(world)
    assert [entry.position for entry in world.journal] == list(range(1, len(world.journal) + 1))
    assert replay(world.config, SEED, stored(world.journal)) is None
    assert story.fates or begun_too_many(world.journal) == 0
    assert name not in BY_STOPPING or check_stops(world.config, world.journal) >= 1
    assert name not in BY_PROMOTION or left_behind(world.config, world.journal) == []


@every_method
def test_the_end_is_reached_though_every_trial_ends_early(name: str) -> None:
    for seed, outcome in enumerate(ENDS * examples(1, 10)):
        world = METHODS[name].world()
        Story(seed, dict.fromkeys(range(1, 100), outcome), frozenset(range(1, 100, 2))).happen(world)
        assert len(world.trials) == made_by(METHODS[name], world), outcome
        assert world.experiment.state is end_by_the_rules(world), outcome


@every_method
@settings(max_examples=examples(3, 20), deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_a_search_that_is_lost_at_any_event_has_the_same_future(
    name: str, story: Story, chance: random.Random
) -> None:
    """Rebuilt from its journal, or by its saved state where it has one."""
    whole = story.happen(METHODS[name].world())
    for found_again in (World.restart, take_up_state)[: 1 if name in LEARNING else 2]:
        broken = story.happen(METHODS[name].world(), now_and_then(chance, found_again))
        assert broken.journal == whole.journal
        assert broken.trials == whole.trials
        assert broken.experiment == whole.experiment


@pytest.mark.parametrize("name", LEARNING)
def test_a_search_that_learns_is_rebuilt_from_its_journal_and_saves_no_state(name: str) -> None:
    assert save_state(METHODS[name].world().search) is None


@every_method
@settings(max_examples=examples(3, 20), deadline=None)
@given(story=STORIES, chance=CHANCE)
def test_pauses_of_a_person_change_neither_limits_nor_end(
    name: str, story: Story, chance: random.Random
) -> None:
    def pause_or_resume(world: World) -> None:
        state = world.experiment.state
        if state is ExperimentState.PAUSED and (not world.open() or chance.random() < 0.2):
            world.apply(resume)
        elif state is ExperimentState.ACTIVE and chance.random() < 0.03:
            world.apply(pause)

    case, world = METHODS[name], METHODS[name].world()
    story.happen(world, pause_or_resume)
    assert len(world.trials) == made_by(case, world) and world.most_open <= case.concurrent
    assert world.experiment.state is end_by_the_rules(world)
    assert replay(world.config, SEED, stored(world.journal)) is None


def now_and_then(
    chance: random.Random, act: Callable[[World], None], share: float = 0.05
) -> Callable[[World], None]:
    """Between one event and the next, at a share of them."""

    def between(world: World) -> None:
        if chance.random() < share:
            act(world)

    return between


def tell_again(world: World) -> None:
    """Something that happened before, of whichever trial: that changes nothing, and nothing is said."""
    if not world.events:
        return
    number, act = random.Random(len(world.events)).choice(world.events)
    experiment, trials, said = world.experiment, world.trials, len(world.journal)
    decision = world.apply(act, number)
    world.events.pop()
    assert not (decision.requested or decision.changed or decision.judged or decision.is_announced)
    assert (world.experiment, len(world.journal)) == (experiment, said)
    assert [t._replace(dirty=False) for t in world.trials.values()] == [
        t._replace(dirty=False) for t in trials.values()
    ]


def take_up_state(world: World) -> None:
    state = save_state(world.search)
    world.search = Search(world.config, SEED)
    restore_state(world.search, json.loads(json.dumps(state)))


def is_in_space(point: Point) -> bool:
    given_point: Any = point
    takes_part = given_point["optimizer"] == "sgd"
    return bool(
        1e-4 <= given_point["lr"] <= 1e-1
        and given_point["optimizer"] in ("sgd", "adam")
        and ("momentum" in given_point) == takes_part
        and (not takes_part or any(math.isclose(given_point["momentum"], n / 10) for n in range(10)))
        and given_point["net"]["width"] in range(8, 65, 8)
    )


def begun_too_many(journal: Iterable[Entry]) -> int:
    """How many trials began or went on at most, when one left its place, beyond as many as left theirs or were told to. With 0 what a search wants
    never rises, and nobody need have machines ready for it (decision 0189)."""
    most = 0
    leaving: set[int] = set()
    for entry in journal:
        facts: Any = entry.facts
        if entry.kind == "judged" and (facts["stop"] or facts.get("pause")):
            leaving.add(facts["trial"])
        elif entry.kind in ("parked", "ended"):
            leaving.discard(facts["trial"])
            started = len(facts["created"]) + len(facts.get("resumed", ()))
            most = max(most, started - 1 - len(leaving))
    return most


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

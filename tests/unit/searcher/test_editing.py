"""A running search goes further, or less far, than its config says; and ends early with the best so far."""

import itertools
import math
import random
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from services.searcher.core.editing import SearchEdit
from services.searcher.core.journal.replay import replay
from services.searcher.core.methods.halving import reshare_trials
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.commands import edit_search, finish, pause
from services.searcher.core.reducers.limits import widen
from services.searcher.core.search.widening import Idle
from shared.errors import Conflict, Rejected
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.world import SEED, World, adaptive, asha, config, median, run_search

OPERATION = UUID(int=1)
RANDOM: dict[str, object] = {"name": "random", "max_trials": 6, "max_concurrent_trials": 2}
SEARCHERS: dict[str, dict[str, object]] = {
    "random": RANDOM,
    "random without limit": RANDOM | {"max_concurrent_trials": 0},
    "async_halving": asha(),
    "async_halving without limit": asha(concurrent=0),
    "async_halving by promotion": asha(stop_once=False),
    "adaptive_asha": adaptive(),
    "adaptive_asha conservative": adaptive(mode="conservative", concurrent=1),
    "adaptive_asha by promotion": adaptive(stop_once=False),
    "median_stopping": median(),
}
every_searcher = pytest.mark.parametrize("name", SEARCHERS)


def edited(world: World, max_trials: int | None = None, max_concurrent_trials: int | None = None) -> None:
    edit = SearchEdit(max_trials, max_concurrent_trials)
    world.apply(lambda changes: edit_search(changes, edit, OPERATION))


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


@every_searcher
@settings(max_examples=15, deadline=None)
@given(
    chaos=st.builds(random.Random, st.integers(0, 10**6)),
    changes=st.lists(st.tuples(st.integers(0, 150), st.integers(1, 40), st.integers(1, 6)), max_size=4),
)
def test_a_search_makes_as_many_trials_as_it_was_last_told_and_its_journal_repeats_it(
    name: str, chaos: random.Random, changes: list[tuple[int, int, int]]
) -> None:
    world = World(config(SEARCHERS[name]))
    due = {at: (more, concurrent) for at, more, concurrent in changes}
    events = itertools.count()
    total, most = world.search.planned(), math.inf

    def change(world: World) -> None:
        nonlocal total, most
        assert len(world.open()) <= most
        asked = due.get(next(events))
        if asked is not None and not world.experiment.is_final:
            total = max(world.search.created, asked[0])
            edited(world, max_trials=total, max_concurrent_trials=asked[1])
            assert world.experiment.planned == total
            most = asked[1]
        # Those that are open when fewer are wanted stay.
        most = max(most, len(world.open())) if asked is not None else most

    run_search(world, loss, chaos=chaos, max_step=70, between=change)
    assert world.experiment.state == "completed"
    assert len(world.trials) == total
    assert replay(world.config, SEED, world.journal) is None


def test_more_trials_begin_at_once_where_there_is_room() -> None:
    world = World(config(RANDOM))
    world.begin()
    edited(world, max_concurrent_trials=5)
    assert len(world.trials) == 5
    assert world.experiment.limits.max_concurrent_trials == 5
    edited(world, max_trials=40, max_concurrent_trials=7)
    assert (len(world.trials), world.experiment.planned) == (7, 40)
    assert world.experiment.limits.operation == OPERATION


def test_fewer_at_once_end_nobody_and_are_kept_when_slots_idle_no_more() -> None:
    world = World(config(RANDOM | {"max_concurrent_trials": 4, "widen_to": 6}))
    world.begin()
    edited(world, max_concurrent_trials=1)
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.RUN}
    for number in (1, 2, 3):
        assert world.close(number, "completed").requested == ()
    world.apply(lambda changes: widen(changes, Idle(1, 0)))
    assert len(world.open()) == 2
    world.apply(lambda changes: widen(changes, Idle(0, 1)))
    world.close(4, "completed")
    assert len(world.open()) == 1


def test_the_last_trial_is_the_last_when_no_more_are_wanted() -> None:
    world = World(config(asha(stop_once=False, concurrent=1)))
    world.begin()
    world.grant(1), world.validate(1, 1, 0.5), world.obey(1)
    world.grant(2), world.validate(2, 1, 0.4)
    world.apply(pause)
    world.obey(2)
    world.apply(lambda changes: edit_search(changes, SearchEdit(max_trials=2), OPERATION))
    assert world.experiment.state == "completed"
    assert {trial.state for trial in world.trials.values()} == {"stopped"}


@pytest.mark.parametrize(
    ("searcher", "edit", "said"),
    [
        (RANDOM | {"max_concurrent_trials": 4}, SearchEdit(max_trials=3), "already created 4 trials"),
        (RANDOM, SearchEdit(max_concurrent_trials=0), "is 0, but must be between 1 and"),
        (RANDOM, SearchEdit(max_trials=100_001), "is 100001, but must be between 1 and"),
        ({"name": "single"}, SearchEdit(max_trials=2), "one trial"),
        ({"name": "single"}, SearchEdit(max_concurrent_trials=2), "one trial"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    searcher: dict[str, object], edit: SearchEdit, said: str
) -> None:
    world = World(config(searcher))
    world.begin()
    before = (world.experiment, len(world.journal))
    with pytest.raises(Rejected, match=said):
        world.apply(lambda changes: edit_search(changes, edit, OPERATION))
    assert (world.experiment, len(world.journal)) == before


def test_a_grid_takes_more_at_once_and_no_other_number_of_trials() -> None:
    world = World(
        config(
            {"name": "grid", "max_concurrent_trials": 2}, {"a": {"type": "categorical", "vals": [1, 2, 3]}}
        )
    )
    world.begin()
    edited(world, max_concurrent_trials=3)
    assert len(world.trials) == 3
    with pytest.raises(Rejected, match="one trial for each grid point"):
        edited(world, max_trials=2)


@pytest.mark.parametrize(
    "act", [finish, lambda changes: edit_search(changes, SearchEdit(max_trials=9), OPERATION)]
)
def test_a_search_that_is_over_is_not_changed(act: Callable[[Changes], object]) -> None:
    world = World(config(RANDOM))
    run_search(world, loss, chaos=random.Random(1), max_step=3)
    with pytest.raises(Conflict, match="completed"):
        world.apply(act)


def test_finishing_stops_what_has_run_cancels_what_has_not_and_keeps_the_best() -> None:
    world = World(config(RANDOM | {"max_concurrent_trials": 3}))
    world.begin()
    world.grant(1), world.validate(1, 1, 0.3)
    world.grant(2)
    world.apply(finish)
    assert [world.trials[n].desired_state for n in (1, 2, 3)] == [
        DesiredState.STOP,
        DesiredState.STOP,
        DesiredState.CANCEL,
    ]
    for number in (1, 2, 3):
        world.obey(number)
    assert (world.experiment.state, world.experiment.reason) == ("completed", "finished early by a user")
    assert world.experiment.best and world.experiment.best.value == 0.3
    assert [world.trials[n].state for n in (1, 2, 3)] == ["stopped", "stopped", "cancelled"]
    assert world.experiment.progress == 1.0
    assert replay(world.config, SEED, world.journal) is None


def test_finishing_ends_parked_trials_as_stopped() -> None:
    world = World(config(RANDOM))
    world.begin()
    world.grant(1), world.validate(1, 1, 0.3)
    world.apply(pause)
    world.obey(1)
    world.apply(finish)
    world.obey(2)
    assert (world.trials[1].state, world.experiment.state) == ("stopped", "completed")


def test_finishing_before_anything_was_reported_is_no_completion() -> None:
    world = World(config(RANDOM))
    world.begin()
    world.apply(finish)
    world.obey(1), world.obey(2)
    assert world.experiment.state == "cancelled"
    assert world.experiment.reason == "finished early by a user; no trial had reported a result"


@given(st.data())
def test_brackets_share_exactly_and_keep_what_they_have(data: st.DataObject) -> None:
    planned = data.draw(st.lists(st.integers(1, 50), min_size=1, max_size=5))
    made = [data.draw(st.integers(0, most)) for most in planned]
    total = data.draw(st.integers(max(1, sum(made)), 400))
    shares = reshare_trials(total, planned, made)
    assert sum(shares) == total
    assert all(share >= least for share, least in zip(shares, made, strict=True))


def test_a_change_is_told_at_once_with_its_operation() -> None:
    world = World(config(RANDOM))
    world.begin()
    decision = world.apply(lambda changes: edit_search(changes, SearchEdit(max_trials=8), OPERATION))
    assert decision.is_announced
    assert decision.experiment.limits._replace(operation=None) == type(decision.experiment.limits)()

"""A search that runs is given its first budget, or more of it: what was used before counts, and it goes on where it was closed."""

import math
import random
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from services.searcher.core.budget.limits import millis
from services.searcher.core.editing import SearchEdit
from services.searcher.core.journal.replay import replay
from services.searcher.core.reducers.commands import edit_search, pause, resume
from shared.errors import Rejected
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.cases import LEARNING, METHODS
from tests.unit.searcher.spending import RANDOM, Spending, spending
from tests.unit.searcher.world import SEED, asha, config, hyperband, pbt, run_search, stored

OPERATION = UUID(int=1)
ONE_BY_ONE = RANDOM | {"max_concurrent_trials": 1}
CLOSING: dict[str, dict[str, object]] = {
    "random": RANDOM,
    "async_halving": asha(),
    "async_halving by promotion": asha(stop_once=False),
    "hyperband": hyperband(),
    "hyperband, two at a time": hyperband(concurrent=2),
    "pbt": pbt(),
    "pbt by turns": pbt(concurrent=2),
}


def edit(world: Spending, change: SearchEdit) -> None:
    """As the searcher does: what trials have used that are over is known to the database."""
    past = world.used_by_ended()
    world.apply(lambda changes: edit_search(changes, change, OPERATION, past, world.price))


def loss(trial: int, step: int) -> float:
    return math.sin(trial * 12.9898) + 1 / step


def test_a_first_budget_counts_what_runs_have_used_before() -> None:
    world = spending(ONE_BY_ONE, price=6.0)
    world.grant_all(1)
    world.after(30).validate(1, 1, 0.5)
    world.close(1, "completed")
    world.grant_all(2)
    world.after(10)
    edit(world, SearchEdit(slot_hours=2.0, cost=30.0))
    limits = world.experiment.limits
    assert limits.used_slot_hours == pytest.approx(40 / 60)
    assert limits.used_cost == pytest.approx(4.0)
    assert world.due_in_minutes == pytest.approx(80 - 65 / 60)
    world.check_replay()
    world.after(79).look()
    assert world.trials[2].desired_state is DesiredState.STOP
    world.close(2, "stopped")
    assert (
        world.experiment.reason
        == "budget.slot_hours: the limit of 2 slot-hours is used up, or reserved for stopping running trials"
    )
    assert replay(world.config, SEED, stored(world.journal)) is None


def test_a_first_deadline_counts_from_when_it_was_given() -> None:
    world = spending(ONE_BY_ONE)
    world.grant_all(1)
    world.after(600)
    edit(world, SearchEdit(deadline_ms=millis(world.now) + 3_600_000))
    assert world.due_in_minutes == pytest.approx(60 - 65 / 60)
    world.check_replay()


def test_a_first_budget_that_is_used_already_is_refused_and_nothing_is_counted() -> None:
    world = spending(ONE_BY_ONE)
    world.grant_all(1)
    world.after(90)
    with pytest.raises(Rejected, match=r"already used 1\.5 slot-hours"):
        edit(world, SearchEdit(slot_hours=1.0))
    world.validate(1, 1, 0.5)
    world.close(1, "completed")
    assert world.experiment.limits.used_slot_hours is None
    assert [entry.kind for entry in world.journal] == ["started", "ended"]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in LEARNING])
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), hours=st.floats(0.2, 3.0))
def test_a_search_of_any_method_keeps_a_first_budget_wherever_it_is_given(
    name: str, seed: int, hours: float
) -> None:
    case, chance = METHODS[name], random.Random(seed)
    world, given_at = Spending(case.config(), case.program), chance.randint(1, 60)
    events = iter(range(10**9))

    def pass_time(world: Spending) -> None:
        world.after(1)
        if next(events) == given_at and not world.experiment.is_final:
            used = world.hours_used()
            edit(world, SearchEdit(slot_hours=used + hours))
        elif world.experiment.due_at is not None and world.experiment.due_at <= world.now:
            world.look()

    run_search(world, loss, chaos=chance, max_step=20, restarts=0.02, between=pass_time)
    assert world.experiment.is_final
    limit = world.experiment.limits.slot_hours
    ending = world.most_open * (world.most_open + 1) / 60
    assert limit is None or world.hours_used() <= limit + ending, "each minute one of those open is ended"
    assert replay(world.config, SEED, stored(world.journal)) is None


@pytest.mark.parametrize("name", CLOSING)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), minutes=st.integers(4, 60))
def test_a_search_that_was_closed_goes_on_when_its_budget_is_raised(
    name: str, seed: int, minutes: int
) -> None:
    """As many trials are made as without a budget, whenever it was closed; of a population at least that."""
    world = Spending(config(CLOSING[name], budget={"slot_hours": minutes / 60}))
    raised = False

    def pass_time(world: Spending) -> None:
        nonlocal raised
        world.after(0.5)
        if world.search.closed and not raised and not world.experiment.is_final:
            raised = True
            edit(world, SearchEdit(lifted=("slot_hours",)))
            assert world.search.closed is None

    run_search(
        world,
        loss,
        chaos=random.Random(seed),
        max_step=20,
        saves_every=1,
        restarts=0.02,
        between=pass_time,
    )
    assert world.experiment.is_final
    assert replay(world.config, SEED, stored(world.journal)) is None
    if raised:
        free = Spending(config(CLOSING[name]))
        assert len(world.trials) >= free.search.planned() == planned_of(name)
        assert world.experiment.planned == len(world.trials)


def planned_of(name: str) -> int:
    return {"random": 20, "hyperband": 17, "hyperband, two at a time": 17, "pbt": 5, "pbt by turns": 5}.get(
        name, 16
    )


def test_what_a_closed_population_had_decided_upon_begins_when_there_is_more() -> None:
    """The deadline lets no copy begin; when it is lifted, the copy is made, from the checkpoint of the best."""
    world = spending(pbt(2, max_time=6), deadline="60m")
    world.grant_all(1, 2)
    for number, value in ((1, 0.1), (2, 0.9)):
        for step in (1, 2):
            world.validate(number, step, value)
        world.save(number, 2)
    world.after(55)
    world.validate(1, 3, 0.1)
    world.validate(2, 3, 0.9)
    assert world.trials[2].desired_state is DesiredState.STOP
    world.close(2, "stopped")
    assert len(world.trials) == 2 and world.search.closed == "deadline"
    world.apply(lambda changes: edit_search(changes, SearchEdit(lifted=("deadline",)), OPERATION))
    assert world.trials[3].source == 1
    world.check_replay()


def test_a_person_who_pauses_a_search_may_give_it_a_budget() -> None:
    world = spending(RANDOM)
    world.apply(pause)
    edit(world, SearchEdit(slot_hours=1.0))
    assert world.experiment.limits.slot_hours == 1.0
    world.apply(resume)
    world.check_replay()

"""A search within a budget: what it begins, when it stops, and what it says then."""

from uuid import UUID

import pytest

from muster.config import AdaptiveAsha
from services.searcher.core.budget.fitting import fit
from services.searcher.core.budget.ledger import HOUR_MS, Ledger, SlotUsage
from services.searcher.core.budget.limits import limits_of, millis
from services.searcher.core.editing import SearchEdit
from services.searcher.core.reducers.commands import edit_search
from services.searcher.core.reducers.submissions import Submitted, on_submission
from services.searcher.core.search.search import Search
from shared.errors import Rejected
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.spending import RANDOM, Spending, of_kind, spending
from tests.unit.searcher.world import NOW, SEED, adaptive, asha, config

OPERATION = UUID(int=1)


def test_a_search_without_a_budget_writes_nothing_of_what_its_runs_hold() -> None:
    world = Spending(config(RANDOM)).started()
    world.grant_all(1)
    assert [entry.kind for entry in world.journal] == ["started"]
    assert "at_ms" not in world.journal[0].facts
    assert world.experiment.due_at is None


def test_of_trials_that_nobody_knows_sixteen_are_begun() -> None:
    world = spending(RANDOM | {"max_trials": 40, "max_concurrent_trials": 0}, slot_hours=8)
    assert len(world.trials) == 16
    world.check_replay()


def test_another_is_begun_as_long_as_the_budget_bears_what_one_has_taken() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 1}, slot_hours=1)
    for number in range(1, 6):
        world.grant_all(number)
        world.after(11).validate(number, 1, 0.5)
        world.close(number, "completed")
    assert len(world.trials) == 5, "55 of 60 minutes are used, and a trial takes 11"
    assert world.experiment.state == "completed"
    assert (
        world.experiment.reason
        == "budget.slot_hours: the rest of 1 slot-hours does not pay for another trial"
    )
    assert (world.experiment.planned, world.experiment.progress) == (5, 1.0)
    world.check_replay()


def test_trials_are_stopped_in_time_and_what_runs_on_is_ended() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 2}, slot_hours=4)
    world.grant_all(1, 2)
    assert world.due_in_minutes == pytest.approx(120 - 65 / 60), (
        "a minute to save and stop, and some to be ended"
    )
    world.after(60).look()
    world.validate(1, 1, 0.5)
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.RUN}
    world.after(59).look()
    assert world.experiment.state == "stopping"
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.STOP}
    world.close(1, "stopped")
    assert world.due_in_minutes == pytest.approx(2 - 5 / 60, abs=0.001)
    world.after(1.99).look()
    assert world.trials[2].desired_state is DesiredState.KILL
    world.close(2, "killed")
    assert world.experiment.state == "completed"
    assert (
        world.experiment.reason
        == "budget.slot_hours: the limit of 4 slot-hours is used up, or reserved for stopping running trials"
    )
    used = world.experiment.limits.used_slot_hours
    assert used is not None and 3.9 < used <= 4
    world.check_replay()


def test_what_stops_slowly_is_given_longer() -> None:
    world = spending(asha(concurrent=2), slot_hours=20)
    world.grant_all(1, 2)
    before = world.due_in_minutes
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.9).judged[0].verdict == "stop"
    world.after(10)
    world.close(2, "stopped")
    world.grant_all(3)
    assert before - world.due_in_minutes > 10
    world.check_replay()


@pytest.mark.parametrize(
    ("seconds", "stop_s", "end_s"), [(20, 20 / 3, 20 / 6), (60, 10, 5), (200, 20, 5), (3600, 65, 5)]
)
def test_a_short_budget_keeps_the_seconds_back_that_stopping_takes(
    seconds: int, stop_s: float, end_s: float
) -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 1}, deadline=f"{seconds}s")
    world.grant_all(1)
    assert world.due_in_minutes * 60 == pytest.approx(seconds - stop_s, abs=0.001)
    world.after((seconds - stop_s) / 60 + 0.001).look()
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.STOP}
    assert world.due_in_minutes * 60 == pytest.approx(stop_s - end_s, abs=0.1)
    world.after((stop_s - end_s) / 60).look()
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.KILL}
    world.close(1, "killed")
    world.check_replay()


def test_a_short_budget_keeps_back_what_its_trials_have_been_seen_to_need() -> None:
    world = spending(asha(concurrent=2), deadline="5m")
    world.grant_all(1, 2)
    before = world.due_in_minutes
    assert before == pytest.approx(5 - 0.5)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.9).judged[0].verdict == "stop"
    world.after(0.5).close(2, "stopped")
    assert world.due_in_minutes == pytest.approx(before - 0.5 - 12.5 / 60), "37.5 s and 5 to be ended, for 30"
    world.check_replay()


@pytest.mark.parametrize("is_saved_without", [False, True])
def test_a_search_begun_under_older_rules_keeps_a_tenth_back(is_saved_without: bool) -> None:
    world = spending(RANDOM, deadline="20s")
    older = Search(world.config, SEED)
    older.spending.advance_time(millis(NOW))
    older.start(world.search.spending.limits, rules=2)
    if is_saved_without:
        del vars(older.spending)["rules"]
    dues = [older.spending.due_ms(is_stopping) for is_stopping in (False, True)]
    assert dues == [millis(NOW) + 18_000, millis(NOW) + 19_000]


def test_cost_counts_at_the_price_of_each_interval() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 1}, price=6.0, cost=3)
    world.grant_all(1)
    assert world.due_in_minutes == pytest.approx(30 - 65 / 60)
    world.price = 12.0
    world.after(10).look()
    assert world.due_in_minutes == pytest.approx(10 - 65 / 60), "2 of 3 are left, at 12 for an hour"
    written = of_kind(world, "price_changed")
    world.look()
    assert of_kind(world, "price_changed") == written, "a price that is known is no news"
    world.after(5).validate(1, 1, 0.5)
    world.close(1, "completed")
    assert world.experiment.limits.used_cost == pytest.approx(10 / 10 + 5 / 5)
    assert world.experiment.reason == "budget.cost: the rest of 3 does not pay for another trial"
    world.check_replay()


def test_before_a_deadline_no_trial_begins_that_could_not_be_trained_to_its_end() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 1}, deadline="1h")
    for number in (1, 2):
        world.grant_all(number)
        world.after(25).validate(number, 1, 0.5)
        world.close(number, "completed")
    assert len(world.trials) == 2
    assert (
        world.experiment.reason
        == "budget.deadline: the time left until 2026-01-01 01:00 UTC is too short for another trial"
    )
    world.check_replay()


def test_a_deadline_stops_what_runs_and_counts_from_the_submission() -> None:
    world = Spending(config(RANDOM, budget={"deadline": "1h"}))
    world.after(10).apply(lambda changes: on_submission(changes, Submitted(at=NOW)))
    assert world.due_in_minutes == pytest.approx(50 - 65 / 60)
    world.grant_all(1)
    world.validate(1, 1, 0.5)
    world.after(49).look()
    assert [world.trials[n].desired_state for n in (1, 2)] == [DesiredState.STOP, DesiredState.CANCEL]
    assert world.trials[2].state == "cancelled"
    for number in list(world.trials):
        world.close(number, "stopped" if number == 1 else "cancelled")
    assert (
        world.experiment.reason
        == "budget.deadline: running trials need the time left until 2026-01-01 01:00 UTC to save and stop"
    )
    world.check_replay()


def test_a_deadline_gives_idle_slots_to_paused_trials_rather_than_to_new_ones() -> None:
    world = spending(asha(concurrent=2, stop_once=False), deadline="12m")
    world.grant_all(1, 2)
    world.after(1).validate(1, 1, 0.1)
    world.close(1, "parked")
    assert len(world.trials) == 3, "a trial takes nine minutes, and eleven are left"
    world.after(1).validate(2, 1, 0.2)
    world.close(2, "parked")
    assert of_kind(world, "parked")[-1].facts["closed"] == "deadline"
    assert len(world.trials) == 3
    assert [world.trials[n].desired_state for n in (1, 2, 3)] == [
        DesiredState.RUN,
        DesiredState.PARK,
        DesiredState.RUN,
    ]
    assert world.search.planned() == 3
    world.check_replay()


def test_by_stopping_the_better_half_goes_on_when_no_more_trials_come() -> None:
    world = spending(asha(concurrent=4), deadline="1h")
    world.grant_all(1, 2, 3, 4)
    world.after(52)
    verdicts = [world.validate(n, 1, n / 10).judged[0].verdict for n in (4,)]
    world.close(4, "failed")
    assert world.search.closed == "deadline"
    verdicts += [world.validate(n, 1, n / 10).judged[0].verdict for n in (3, 2, 1)]
    assert verdicts == ["go_on"] * 4
    world.check_replay()


@pytest.mark.parametrize(
    ("budget", "trials"),
    [({"slot_hours": 1e6}, 64), ({"slot_hours": 4}, 22), ({"deadline": "1h"}, 22), ({"slot_hours": 1}, 1)],
)
def test_brackets_are_chosen_to_fit_where_it_is_known_what_a_trial_takes(
    budget: dict[str, object], trials: int
) -> None:
    chosen = config(adaptive(max_trials=64, concurrent=4), budget={"trial_s": 3000, **budget})
    limits = limits_of(chosen, NOW)
    assert limits is not None
    fitted = fit(chosen, limits, 0.0, millis(NOW))
    assert isinstance(fitted.config.searcher, AdaptiveAsha)
    assert fitted.config.searcher.max_trials == trials
    assert fitted.limit == (None if trials == 64 else next(iter(budget)))
    world = Spending(chosen).started()
    assert world.experiment.planned is not None and world.experiment.planned <= trials


def test_more_budget_lets_a_search_go_further() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 2}, slot_hours=1)
    world.grant_all(1, 2)
    world.after(20).validate(1, 1, 0.5)
    world.close(1, "completed")
    assert len(world.trials) == 2
    world.apply(lambda changes: edit_search(changes, SearchEdit(slot_hours=10.0), OPERATION))
    assert len(world.trials) == 3
    assert world.experiment.limits.slot_hours == 10
    lifted = world.apply(
        lambda changes: edit_search(changes, SearchEdit(lifted=("slot_hours",)), OPERATION)
    ).experiment
    assert (lifted.limits.slot_hours, lifted.due_at) == (None, None)
    world.check_replay()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (SearchEdit(slot_hours=0.1), "already used"),
        (SearchEdit(deadline_ms=millis(NOW)), "already passed"),
    ],
)
def test_a_limit_that_is_passed_already_is_refused(edit: SearchEdit, said: str) -> None:
    world = spending(RANDOM, slot_hours=2, deadline="5h")
    world.grant_all(1)
    world.after(20)
    with pytest.raises(Rejected, match=said):
        world.apply(lambda changes: edit_search(changes, edit, OPERATION))
    assert world.experiment.limits.slot_hours == 2


def test_where_nothing_was_reported_by_the_limit_the_search_is_cancelled_with_the_reason() -> None:
    world = spending(RANDOM | {"max_concurrent_trials": 1}, slot_hours=1)
    world.grant_all(1)
    world.after(60).look()
    world.close(1, "stopped")
    assert world.experiment.state == "cancelled"
    assert (
        world.experiment.reason
        == "budget.slot_hours: the limit of 1 slot-hours is used up, or reserved for stopping running trials; no trial had reported a result"
    )


def test_a_run_is_counted_once_in_whatever_order_it_is_told() -> None:
    ledger = Ledger()
    first, over = SlotUsage(2, 0), SlotUsage(2, 0, HOUR_MS)
    for usage in (over, first, over):
        if ledger.is_change(1, 1, usage):
            ledger.take(1, 1, usage)
    assert ledger.used(9 * HOUR_MS).slot_ms == 2 * HOUR_MS
    ledger.take(1, 2, SlotUsage(4, 2 * HOUR_MS, price=3.0))
    assert ledger.is_change(1, 2, SlotUsage(1, 3 * HOUR_MS))
    ledger.take(1, 2, SlotUsage(1, 3 * HOUR_MS, price=9.0))
    ledger.take(1, 2, SlotUsage(1, 0, 5 * HOUR_MS, price=9.0))
    used = ledger.of(1, 9 * HOUR_MS)
    assert (used.slot_ms, used.wall_ms) == (8 * HOUR_MS, 4 * HOUR_MS)
    assert used.cost == pytest.approx(3.0 * 4 + 3.0 * 2)

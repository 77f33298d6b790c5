"""An experiment's life: what a neighbour sees of every event."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from operator import methodcaller
from typing import Any
from uuid import UUID

import pytest

from services.searcher.core.entities import Checkpoint, Closed, Ended
from services.searcher.core.machines import EXPERIMENT, TRIAL
from services.searcher.core.results import Result
from services.searcher.core.turn import Turn
from shared.errors import Conflict
from shared.ids import CheckpointId
from shared.machine import Machine
from shared.messages.queue import RequestOutcome
from shared.messages.specs import Wanted
from tests.unit.searcher.world import NOW, World, asha, config, run_search

RANDOM: dict[str, object] = {"name": "random", "max_trials": 4, "max_concurrent_trials": 2}
CHECKPOINT = Checkpoint(CheckpointId(UUID(int=3)), run=1, step=2)


def begun(searcher: dict[str, object]) -> World:
    world = World(config(searcher))
    world.begin()
    return world


def test_the_first_trials_are_wanted_with_their_first_decision() -> None:
    world = World(config(asha()))
    decision = world.begin()
    assert decision.wanted == decision.changed == (1, 2, 3, 4)
    assert decision.is_announced
    assert {(t.wanted, t.wish, t.request, t.decide_at) for t in world.trials.values()} == {
        (Wanted.RUN, 1, 1, 1.0)
    }
    assert len({trial.id for trial in world.trials.values()}) == 4


def test_a_validation_before_the_decision_writes_no_journal_and_tells_nobody() -> None:
    world = begun(asha(max_time=90))
    world.grant(1)
    decision = world.validate(1, 9, 0.5)
    assert (decision.entries, decision.wanted, decision.changed, decision.judged) == ((), (), (), ())
    assert not decision.is_announced
    assert decision.experiment.best and decision.experiment.best.value == 0.5


def test_one_verdict_at_each_decision_and_the_wish_carries_the_next() -> None:
    world = begun(asha())
    world.grant(1)
    judged = world.validate(1, 1, 0.5)
    assert [(j.run, j.validation, j.verdict, j.decide_at) for j in judged.judged] == [(1, 1, "go_on", 3.0)]
    assert judged.wanted == (1,)
    assert (world.trials[1].wish, world.trials[1].decide_at, world.trials[1].wanted) == (2, 3.0, Wanted.RUN)
    assert world.validate(1, 2, 0.1).judged == ()
    world.grant(2)
    stopped = world.validate(2, 1, 0.9)
    assert [(j.verdict, j.decide_at) for j in stopped.judged] == [("stop", None)]
    assert (world.trials[2].wanted, world.trials[2].state) == (Wanted.STOP, "stopping")
    assert world.validate(2, 3, 0.0).judged == ()


def test_repeated_lower_and_older_validations_change_nothing() -> None:
    world = begun(asha())
    world.grant(1)
    world.validate(1, 1, 0.5)
    before = world.trials[1]
    for run, number in ((1, 1), (0, 7)):
        world.turn(methodcaller("on_validation", Result(1, run, number, 9, {"loss": 0.0})))
    assert world.trials[1] == before


def test_a_restarted_run_is_not_asked_twice_and_silences_the_older_one() -> None:
    world = begun(asha())
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, 1, 0), is_requeued=True))
    assert world.trials[1].state == "queued"
    world.grant(1)
    assert world.trials[1].decide_at == 3.0
    again = world.turn(lambda turn: turn.on_validation(Result(1, 2, 1, 1, {"loss": 0.6})))
    assert (again.judged, again.entries) == ((), ())
    late = world.turn(lambda turn: turn.on_validation(Result(1, 1, 2, 3, {"loss": 0.1})))
    assert (late.judged, late.entries) == ((), ())


def test_a_late_validation_of_the_older_run_counts_until_the_newer_one_reports() -> None:
    world = begun(asha())
    world.grant(1)
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, 1, 0), is_requeued=True))
    world.grant(1)
    late = world.turn(lambda turn: turn.on_validation(Result(1, 1, 1, 1, {"loss": 0.5})))
    assert [j.verdict for j in late.judged] == ["go_on"]


def test_a_stale_validation_is_no_rungs_business() -> None:
    world = begun(asha())
    world.grant(1)
    stale = Result(1, 1, 1, 1, {"loss": 0.1}, is_stale=True)
    decision = world.turn(lambda turn: turn.on_validation(stale))
    assert (decision.judged, decision.entries) == ((), ())
    assert decision.experiment.best is None


def test_the_next_trial_is_wanted_when_a_request_closes_and_not_before() -> None:
    world = begun(asha(concurrent=2))
    world.grant(1), world.grant(2)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.9).wanted == (2,)
    decision = world.close(2, "stopped")
    assert decision.wanted == (3,)
    assert world.trials[2].state == "stopped"


def test_a_trial_at_the_top_is_completed() -> None:
    world = begun(asha())
    world.grant(1)
    assert world.validate(1, 9, 0.5).judged[0].verdict == "stop"
    world.close(1, "stopped")
    assert world.trials[1].state == "completed"


def test_a_trial_is_final_when_what_it_announced_has_come_and_the_refill_does_not_wait() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, 2, 1), is_requeued=False))
    closed = world.turn(lambda turn: turn.on_closed(1, 1, Closed("completed", 1, None, NOW)))
    assert closed.wanted == (3,)
    assert world.trials[1].state == "stopping"
    world.turn(lambda turn: turn.on_validation(Result(1, 1, 2, 2, {"loss": 0.4})))
    assert world.trials[1].state == "stopping"
    world.turn(lambda turn: turn.on_checkpoint(1, CHECKPOINT))
    assert world.trials[1].state == "completed"
    assert world.trials[1].best and world.trials[1].best.value == 0.4


def test_the_order_of_run_ended_and_request_closed_does_not_matter() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.turn(lambda turn: turn.on_closed(1, 1, Closed("completed", 1, None, NOW)))
    assert world.trials[1].state == "stopping"
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, 0, 0), is_requeued=False))
    assert world.trials[1].state == "completed"


def test_what_follows_a_complete_trial_is_proposed_knowing_what_it_came_to() -> None:
    world = begun({"name": "random", "sampler": "tpe", "max_trials": 3, "max_concurrent_trials": 1})
    world.grant(1)
    world.validate(1, step=1, loss=0.5)
    world.close(1, "completed")
    assert [entry.kind for entry in world.journal] == ["started", "observed", "ended"]
    assert world.journal[-1].facts["created"]


def test_a_lost_run_is_not_waited_for() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, None, None), is_requeued=False))
    world.turn(lambda turn: turn.on_closed(1, 1, Closed("failed", 1, "lost ten times", NOW)))
    assert (world.trials[1].state, world.trials[1].reason) == ("error", "lost ten times")


def test_what_never_comes_is_given_up_with_a_reason() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.turn(lambda turn: turn.on_run_ended(1, Ended(1, 5, 0), is_requeued=False))
    world.turn(lambda turn: turn.on_closed(1, 1, Closed("completed", 1, None, NOW)))
    world.turn(lambda turn: turn.settle_anyway(1))
    assert world.trials[1].state == "completed"
    assert "not everything" in (world.trials[1].reason or "")


def test_a_repeated_close_creates_nothing() -> None:
    world = begun(RANDOM)
    world.close(1, "completed")
    assert world.close(1, "completed").wanted == ()
    assert len(world.trials) == 3


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        (["failed", "failed", "failed", "completed"], "completed"),
        (["failed"] * 4, "error"),
        (["cancelled"] * 4, "cancelled"),
        (["failed", "cancelled", "cancelled", "cancelled"], "error"),
    ],
)
def test_how_a_search_ends(outcomes: list[RequestOutcome], state: str) -> None:
    world = begun(RANDOM)
    for number, outcome in enumerate(outcomes, 1):
        world.grant(number)
        if outcome == "completed":
            world.validate(number, 1, 0.5)
        world.close(number, outcome)
    assert world.experiment.state == state
    assert world.experiment.ended_at == NOW


def test_a_metric_that_nobody_reported_is_an_error_with_its_name() -> None:
    world = begun(RANDOM)
    for number in range(1, 5):
        world.grant(number)
        world.close(number, "completed")
    assert world.experiment.state == "error"
    assert "'loss'" in (world.experiment.reason or "")


@pytest.mark.parametrize(
    ("searcher", "values", "missing"),
    [
        (RANDOM, {"accuracy": 0.5}, "searcher.metric 'loss'"),
        (asha(time_metric="epochs"), {"loss": 0.5}, "searcher.time_metric 'epochs'"),
        (asha(time_metric="epochs"), {"loss": 0.5, "epochs": math.nan}, "searcher.time_metric 'epochs'"),
    ],
)
def test_a_missing_metric_ends_the_experiment_with_the_reason(
    searcher: dict[str, object], values: dict[str, float], missing: str
) -> None:
    world = begun(searcher)
    world.grant(1)
    decision = world.turn(lambda turn: turn.on_validation(Result(1, 1, 1, 1, values)))
    assert [j.verdict for j in decision.judged] == ["stop"]
    assert world.experiment.state == "stopping"
    assert {trial.wanted for trial in world.trials.values()} == {Wanted.KILL}
    for number in list(world.trials):
        world.obey(number)
    assert world.experiment.state == "error"
    assert missing in (world.experiment.reason or "")
    assert "step 1" in (world.experiment.reason or "")


def test_nan_ranks_worst_and_is_never_best() -> None:
    world = begun(asha())
    world.grant(1), world.grant(2), world.grant(3)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, math.nan).judged[0].verdict == "stop"
    assert world.validate(3, 1, -math.inf).judged[0].verdict == "stop"
    assert world.experiment.best and world.experiment.best.trial == 1


def test_larger_is_better() -> None:
    world = begun(asha(smaller_is_better=False))
    world.grant(1), world.grant(2), world.grant(3)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.4).judged[0].verdict == "stop"
    assert world.validate(3, 1, 0.6).judged[0].verdict == "go_on"
    assert world.experiment.best and world.experiment.best.trial == 3


def test_pause_parks_all_and_resume_runs_them_again_before_new_ones() -> None:
    world = begun(RANDOM)
    world.grant(1)
    decision = world.turn(Turn.pause)
    assert (world.experiment.state, decision.wanted) == ("paused", (1, 2))
    assert {trial.wanted for trial in world.trials.values()} == {Wanted.PARK}
    world.close(1, "completed")  # it ended by itself just then
    assert len(world.trials) == 2
    world.obey(2)
    assert world.trials[2].state == "parked"
    decision = world.turn(Turn.resume)
    assert decision.wanted == (2, 3)
    assert (world.trials[2].request, world.trials[2].wanted, world.trials[2].state) == (
        2,
        Wanted.RUN,
        "queued",
    )


def test_a_resume_that_overtakes_the_parking_opens_a_new_request_at_the_close() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.turn(Turn.pause)
    world.turn(Turn.resume)
    assert (world.trials[1].wanted, world.trials[1].request) == (Wanted.RUN, 1)
    closed = world.close(1, "parked")
    assert closed.wanted == (1,)
    assert (world.trials[1].request, world.trials[1].state) == (2, "queued")


def test_a_decision_during_a_pause_says_pause() -> None:
    world = begun(asha())
    world.grant(1)
    world.turn(Turn.pause)
    judged = world.validate(1, 1, 0.5)
    assert [(j.verdict, j.decide_at) for j in judged.judged] == [("pause", 3.0)]
    assert world.trials[1].wanted is Wanted.PARK


def test_a_parked_trial_that_a_late_result_stops_ends_there() -> None:
    world = begun(asha())
    world.grant(1), world.grant(2)
    world.validate(1, 1, 0.5)
    world.turn(Turn.pause)
    world.turn(lambda turn: turn.on_run_ended(2, Ended(1, 1, 0), is_requeued=False))
    world.turn(lambda turn: turn.on_closed(2, 1, Closed("parked", 1, None, NOW)))
    world.turn(lambda turn: turn.on_validation(Result(2, 1, 1, 1, {"loss": 0.9})))
    assert world.trials[2].state == "stopped"


def test_cancel_ends_open_and_parked_trials() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.turn(Turn.pause)
    world.obey(2)
    decision = world.turn(lambda turn: turn.cancel(Wanted.CANCEL))
    assert decision.wanted == (1,)
    assert (world.experiment.state, world.trials[2].state) == ("stopping", "cancelled")
    killed = world.turn(lambda turn: turn.cancel(Wanted.KILL))
    assert killed.wanted == (1,)
    world.obey(1)
    assert (world.experiment.state, world.trials[1].state) == ("cancelled", "cancelled")
    assert len(world.trials) == 2


def test_trials_that_a_turn_does_not_know_are_ended_by_the_rest() -> None:
    world = begun(asha())
    turn = Turn(world.config, world.experiment, [world.trials[1]], world.search, NOW)
    turn.on_validation(Result(1, 1, 1, 1, {}))
    assert turn.needs_rest
    turn.end_rest(world.trials.values())
    decision = turn.decide()
    assert sorted(decision.wanted) == [1, 2, 3, 4]


def test_an_impossible_placement_rejects_the_experiment() -> None:
    world = begun(RANDOM)
    world.turn(lambda turn: turn.on_closed(1, 1, Closed("rejected", 0, "pool x does not exist", NOW)))
    assert (world.experiment.state, world.trials[2].wanted) == ("stopping", Wanted.KILL)
    world.obey(2)
    assert (world.experiment.state, world.experiment.reason) == ("rejected", "pool x does not exist")
    assert len(world.trials) == 2


@pytest.mark.parametrize("act", [Turn.pause, Turn.resume, lambda turn: turn.cancel(Wanted.KILL)])
def test_commands_after_the_end_are_conflicts(act: Callable[[Turn], None]) -> None:
    world = begun({"name": "single"})
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "completed")
    with pytest.raises(Conflict, match="completed"):
        world.turn(act)
    world.turn(lambda turn: turn.archive(True))
    assert world.experiment.archived


def test_versions_rise_with_what_is_told() -> None:
    world = begun(asha())
    run_search(world, lambda trial, step: trial + 1 / step, chaos=random.Random(0))
    wishes: dict[int, int] = {}
    versions: dict[int, int] = {}
    for decision in world.decisions:
        for number in decision.wanted:
            assert decision.trials[number].wish > wishes.get(number, 0)
            wishes[number] = decision.trials[number].wish
        for number in decision.changed:
            assert decision.trials[number].version > versions.get(number, 0)
            versions[number] = decision.trials[number].version
    assert sorted(versions) == sorted(world.trials)


@pytest.mark.parametrize("machine", [EXPERIMENT, TRIAL], ids=["experiment", "trial"])
def test_every_state_can_be_reached_and_final_ones_stay(machine: Machine[Any, Any]) -> None:
    states = {state for edge in machine.table.items() for state in (edge[0][0], edge[1])}
    assert machine.reachable() == states
    triggers = {trigger for _, trigger in machine.table}
    for state in machine.final:
        assert {machine.next(state, trigger) for trigger in triggers} == {state}


def test_a_final_trial_ignores_everything() -> None:
    world = begun(RANDOM)
    world.grant(1)
    world.close(1, "failed")
    before = world.trials[1]
    world.turn(lambda turn: turn.on_granted(1, 9))
    world.turn(lambda turn: turn.on_validation(Result(1, 9, 1, 1, {"loss": 0.1})))
    world.turn(lambda turn: turn.on_run_ended(1, Ended(9, 0, 0), is_requeued=True))
    world.turn(lambda turn: turn.on_checkpoint(1, replace(CHECKPOINT, run=9)))
    assert world.trials[1]._replace(dirty=False) == before._replace(dirty=False)

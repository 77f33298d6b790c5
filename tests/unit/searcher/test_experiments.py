"""An experiment's life: what a neighbour sees of every event."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from services.searcher.core.experiment.entities import RunEndReport
from services.searcher.core.experiment.results import Result
from services.searcher.core.experiment.states import EXPERIMENT, TRIAL
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.checkpoints import on_checkpoint
from services.searcher.core.reducers.events import CheckpointReport, Rollback, RunEnd, RunSlots
from services.searcher.core.reducers.runs import on_granted, on_run_ended
from services.searcher.core.reducers.validations import on_rollback, on_validation
from shared.messages.trial_specs import DesiredState
from shared.state_machine import StateMachine
from tests.unit.searcher.lives import CHECKPOINT, RANDOM, started
from tests.unit.searcher.world import World, asha, config, run_search


def test_the_first_trials_are_wanted_with_their_first_decision() -> None:
    world = World(config(asha()))
    decision = world.begin()
    assert decision.requested == decision.changed == (1, 2, 3, 4)
    assert decision.is_announced
    assert {(t.desired_state, t.request_version, t.request, t.decide_at) for t in world.trials.values()} == {
        (DesiredState.RUN, 1, 1, 1.0)
    }
    assert len({trial.id for trial in world.trials.values()}) == 4


def test_a_validation_before_the_decision_writes_no_journal_and_tells_nobody() -> None:
    world = started(asha(max_time=90))
    world.grant(1)
    decision = world.validate(1, 9, 0.5)
    assert (decision.entries, decision.requested, decision.changed, decision.judged) == ((), (), (), ())
    assert not decision.is_announced
    assert decision.experiment.best and decision.experiment.best.value == 0.5


def test_one_verdict_at_each_decision_and_the_wish_carries_the_next() -> None:
    world = started(asha())
    world.grant(1)
    judged = world.validate(1, 1, 0.5)
    assert [(j.run, j.validation, j.verdict, j.decide_at) for j in judged.judged] == [(1, 1, "go_on", 3.0)]
    assert judged.requested == (1,)
    assert (world.trials[1].request_version, world.trials[1].decide_at, world.trials[1].desired_state) == (
        2,
        3.0,
        DesiredState.RUN,
    )
    assert world.validate(1, 2, 0.1).judged == ()
    world.grant(2)
    stopped = world.validate(2, 1, 0.9)
    assert [(j.verdict, j.decide_at) for j in stopped.judged] == [("stop", None)]
    assert (world.trials[2].desired_state, world.trials[2].state) == (DesiredState.STOP, "stopping")
    assert world.validate(2, 3, 0.0).judged == ()


def rolled_back(step: int, *valid: tuple[int, float]) -> Callable[[Changes], object]:
    """Trial 1's second run goes on from `step`; of what it had validated this still counts, the best first."""
    rollback = Rollback(1, 2, step, [(at, {"loss": value}) for at, value in valid])
    return lambda changes: on_rollback(changes, rollback)


def bests(world: World) -> tuple[float | None, tuple[int, float] | None]:
    """Of trial 1, and of the experiment with its trial."""
    own, best = world.trials[1].best, world.experiment.best
    return own.value if own else None, (best.trial, best.value) if best else None


def test_after_a_roll_back_the_best_is_of_what_still_counts() -> None:
    world = started(RANDOM)
    for number in (1, 2):
        world.grant(number)
    for number, step, value in ((1, 1, 0.5), (1, 2, 0.1), (2, 1, 0.3)):
        world.validate(number, step, value)
    assert not world.apply(rolled_back(2, (2, 0.1), (1, 0.5)), 1).is_change
    assert bests(world) == (0.1, (1, 0.1))
    world.apply(rolled_back(1, (1, 0.5)), 1)
    assert bests(world) == (0.5, (2, 0.3))
    world.apply(rolled_back(-1), 1)
    assert bests(world) == (None, (2, 0.3))


def test_what_the_next_run_has_validated_before_the_roll_back_is_heard_of_counts() -> None:
    world = started(RANDOM)
    for step, value in ((2, 0.1), (3, 0.4)):
        world.grant(1)
        world.validate(1, step, value)
    world.apply(rolled_back(1, (1, 0.5)), 1)
    assert bests(world) == (0.4, (1, 0.4))


def test_repeated_lower_and_older_validations_change_nothing() -> None:
    world = started(asha())
    world.grant(1)
    world.validate(1, 1, 0.5)
    before = world.trials[1]
    for old in (Result(1, 1, 1, 9, {"loss": 0.0}), Result(1, 0, 7, 9, {"loss": 0.0})):
        world.apply(partial(on_validation, result=old))
    assert world.trials[1] == before


def test_a_restarted_run_is_not_asked_twice_and_silences_the_older_one() -> None:
    world = started(asha())
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 1, 0), is_requeued=True)))
    assert world.trials[1].state == "queued"
    world.grant(1)
    assert world.trials[1].decide_at == 3.0
    again = world.apply(lambda changes: on_validation(changes, Result(1, 2, 1, 1, {"loss": 0.6})))
    assert (again.judged, again.entries) == ((), ())
    late = world.apply(lambda changes: on_validation(changes, Result(1, 1, 2, 3, {"loss": 0.1})))
    assert (late.judged, late.entries) == ((), ())


def test_a_late_validation_of_the_older_run_counts_until_the_newer_one_reports() -> None:
    world = started(asha())
    world.grant(1)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 1, 0), is_requeued=True)))
    world.grant(1)
    late = world.apply(lambda changes: on_validation(changes, Result(1, 1, 1, 1, {"loss": 0.5})))
    assert [j.verdict for j in late.judged] == ["go_on"]


def test_a_stale_validation_is_no_rungs_business() -> None:
    world = started(asha())
    world.grant(1)
    stale = Result(1, 1, 1, 1, {"loss": 0.1}, is_stale=True)
    decision = world.apply(lambda changes: on_validation(changes, stale))
    assert (decision.judged, decision.entries) == ((), ())
    assert decision.experiment.best is None


def test_the_next_trial_is_wanted_when_a_request_closes_and_not_before() -> None:
    world = started(asha(concurrent=2))
    world.grant(1), world.grant(2)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.9).requested == (2,)
    decision = world.close(2, "stopped")
    assert decision.requested == (3,)
    assert world.trials[2].state == "stopped"


def test_a_trial_at_the_top_is_completed() -> None:
    world = started(asha())
    world.grant(1)
    assert world.validate(1, 9, 0.5).judged[0].verdict == "stop"
    world.close(1, "stopped")
    assert world.trials[1].state == "completed"


def test_versions_rise_with_what_is_told() -> None:
    world = started(asha())
    run_search(world, lambda trial, step: trial + 1 / step, chaos=random.Random(0))
    request_versions: dict[int, int] = {}
    versions: dict[int, int] = {}
    for decision in world.decisions:
        for number in decision.requested:
            assert decision.trials[number].request_version > request_versions.get(number, 0)
            request_versions[number] = decision.trials[number].request_version
        for number in decision.changed:
            assert decision.trials[number].version > versions.get(number, 0)
            versions[number] = decision.trials[number].version
    assert sorted(versions) == sorted(world.trials)


@pytest.mark.parametrize("machine", [EXPERIMENT, TRIAL], ids=["experiment", "trial"])
def test_every_state_can_be_reached_and_final_ones_stay(machine: StateMachine[Any, Any]) -> None:
    states = {state for edge in machine.table.items() for state in (edge[0][0], edge[1])}
    assert machine.reachable() == states
    triggers = {trigger for _, trigger in machine.table}
    for state in machine.final:
        assert {machine.next(state, trigger) for trigger in triggers} == {state}


def test_a_final_trial_ignores_everything() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.close(1, "failed")
    before = world.trials[1]
    world.apply(lambda changes: on_granted(changes, RunSlots(1, 9)))
    world.apply(lambda changes: on_validation(changes, Result(1, 9, 1, 1, {"loss": 0.1})))
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(9, 0, 0), is_requeued=True)))
    world.apply(lambda changes: on_checkpoint(changes, CheckpointReport(1, replace(CHECKPOINT, run=9))))
    assert world.trials[1]._replace(dirty=False) == before._replace(dirty=False)

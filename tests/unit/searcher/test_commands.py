"""What people ask of a search that runs: pause, resume, cancel."""

from collections.abc import Callable

import pytest

from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport
from services.searcher.core.experiment.results import Result
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.commands import archive, cancel, pause, resume
from services.searcher.core.reducers.ending import end_rest
from services.searcher.core.reducers.events import RequestEnd, RunEnd
from services.searcher.core.reducers.runs import on_closed, on_run_ended
from services.searcher.core.reducers.validations import on_validation
from shared.errors import Conflict
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.lives import RANDOM, started
from tests.unit.searcher.world import NOW, asha


def test_pause_parks_all_and_resume_runs_them_again_before_new_ones() -> None:
    world = started(RANDOM)
    world.grant(1)
    decision = world.apply(pause)
    assert (world.experiment.state, decision.requested) == ("paused", (1, 2))
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.PARK}
    world.close(1, "completed")  # it ended by itself just then
    assert len(world.trials) == 2
    world.obey(2)
    assert world.trials[2].state == "parked"
    decision = world.apply(resume)
    assert decision.requested == (2, 3)
    assert (world.trials[2].request, world.trials[2].desired_state, world.trials[2].state) == (
        2,
        DesiredState.RUN,
        "queued",
    )


def test_a_resume_that_overtakes_the_parking_opens_a_new_request_at_the_close() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(pause)
    world.apply(resume)
    assert (world.trials[1].desired_state, world.trials[1].request) == (DesiredState.RUN, 1)
    closed = world.close(1, "parked")
    assert closed.requested == (1,)
    assert (world.trials[1].request, world.trials[1].state) == (2, "queued")


def test_a_decision_during_a_pause_says_pause() -> None:
    world = started(asha())
    world.grant(1)
    world.apply(pause)
    judged = world.validate(1, 1, 0.5)
    assert [(j.verdict, j.decide_at) for j in judged.judged] == [("pause", 3.0)]
    assert world.trials[1].desired_state is DesiredState.PARK


def test_a_parked_trial_that_a_late_result_stops_ends_there() -> None:
    world = started(asha())
    world.grant(1), world.grant(2)
    world.validate(1, 1, 0.5)
    world.apply(pause)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(2, RunEndReport(1, 1, 0), is_requeued=False)))
    world.apply(lambda changes: on_closed(changes, RequestEnd(2, 1, ClosedRequest("parked", 1, None, NOW))))
    world.apply(lambda changes: on_validation(changes, Result(2, 1, 1, 1, {"loss": 0.9})))
    assert world.trials[2].state == "stopped"


def test_cancel_ends_open_and_parked_trials() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(pause)
    world.obey(2)
    decision = world.apply(lambda changes: cancel(changes, DesiredState.CANCEL))
    assert decision.requested == (1,)
    assert (world.experiment.state, world.trials[2].state) == ("stopping", "cancelled")
    killed = world.apply(lambda changes: cancel(changes, DesiredState.KILL))
    assert killed.requested == (1,)
    world.obey(1)
    assert (world.experiment.state, world.trials[1].state) == ("cancelled", "cancelled")
    assert len(world.trials) == 2


def test_trials_that_a_turn_does_not_know_are_ended_by_the_rest() -> None:
    world = started(asha())
    changes = Changes(world.config, world.experiment, [world.trials[1]], world.search, NOW)
    on_validation(changes, Result(1, 1, 1, 1, {}))
    assert changes.needs_rest
    end_rest(changes, world.trials.values())
    decision = changes.decide()
    assert sorted(decision.requested) == [1, 2, 3, 4]


def test_an_impossible_placement_rejects_the_experiment() -> None:
    world = started(RANDOM)
    world.apply(
        lambda changes: on_closed(
            changes, RequestEnd(1, 1, ClosedRequest("rejected", 0, "pool x does not exist", NOW))
        )
    )
    assert (world.trials[2].state, world.trials[2].desired_state) == ("cancelled", DesiredState.KILL)
    assert (world.experiment.state, world.experiment.reason) == ("rejected", "pool x does not exist")
    assert len(world.trials) == 2


@pytest.mark.parametrize("act", [pause, resume, lambda changes: cancel(changes, DesiredState.KILL)])
def test_commands_after_the_end_are_conflicts(act: Callable[[Changes], object]) -> None:
    world = started({"name": "single"})
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "completed")
    with pytest.raises(Conflict, match="completed"):
        world.apply(act)
    world.apply(lambda changes: archive(changes, True))
    assert world.experiment.archived

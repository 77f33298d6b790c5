"""How trials and searches end: what is waited for, what is not, and what it is called."""

import math
from dataclasses import replace

import pytest

from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport
from services.searcher.core.experiment.results import Result
from services.searcher.core.reducers.checkpoints import on_checkpoint, on_delayed
from services.searcher.core.reducers.commands import cancel
from services.searcher.core.reducers.events import CheckpointReport, RequestEnd, RunEnd, UploadDelay
from services.searcher.core.reducers.runs import on_closed, on_overdue, on_run_ended
from services.searcher.core.reducers.validations import on_validation
from shared.messages.queue import RequestOutcome
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.lives import CHECKPOINT, RANDOM, started
from tests.unit.searcher.world import NOW, asha


def test_a_trial_is_final_when_what_it_announced_has_come_and_the_refill_does_not_wait() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 2, 1), is_requeued=False)))
    closed = world.apply(
        lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("completed", 1, None, NOW)))
    )
    assert closed.requested == (3,)
    assert (world.trials[1].state, world.experiment.counts.finishing) == ("finishing", 1)
    assert (
        world.trials[1].reason == "waiting until all validations and checkpoints of its last run are stored"
    )
    world.apply(lambda changes: on_validation(changes, Result(1, 1, 2, 2, {"loss": 0.4})))
    late = "1 checkpoint is not stored yet: the object store does not respond"
    world.apply(lambda changes: on_delayed(changes, UploadDelay(1, 1, late)))
    assert (world.trials[1].state, world.trials[1].reason) == ("finishing", late)
    world.apply(
        lambda changes: on_checkpoint(changes, CheckpointReport(1, replace(CHECKPOINT, settles=False)))
    )
    assert world.trials[1].state == "finishing", "one that was counted before"
    world.apply(lambda changes: on_checkpoint(changes, CheckpointReport(1, CHECKPOINT)))
    ended = world.trials[1]
    assert (ended.state, ended.reason) == ("completed", None)
    world.apply(lambda changes: on_delayed(changes, UploadDelay(1, 1, late)))
    after = world.trials[1]
    assert after.reason is None
    assert after.best and after.best.value == 0.4


def test_a_kill_waits_for_no_upload_and_a_cancel_does() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 0, 1), is_requeued=False)))
    world.apply(
        lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("completed", 1, None, NOW)))
    )
    world.apply(lambda changes: cancel(changes, DesiredState.CANCEL))
    assert world.trials[1].state == "finishing"
    world.apply(lambda changes: cancel(changes, DesiredState.KILL))
    assert world.trials[1].state == "completed"
    assert world.trials[1].reason == "not all validations and checkpoints of its last run were stored"


def test_the_order_of_run_ended_and_request_closed_does_not_matter() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(
        lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("completed", 1, None, NOW)))
    )
    assert world.trials[1].state == "finishing"
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 0, 0), is_requeued=False)))
    assert world.trials[1].state == "completed"


def test_what_follows_a_complete_trial_is_proposed_knowing_what_it_came_to() -> None:
    world = started({"name": "random", "sampler": "tpe", "max_trials": 3, "max_concurrent_trials": 1})
    world.grant(1)
    world.validate(1, step=1, loss=0.5)
    world.close(1, "completed")
    assert [entry.kind for entry in world.journal] == ["started", "observed", "ended"]
    assert world.journal[-1].facts["created"]


def test_a_lost_run_is_not_waited_for() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.apply(
        lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, None, None), is_requeued=False))
    )
    world.apply(
        lambda changes: on_closed(
            changes, RequestEnd(1, 1, ClosedRequest("failed", 1, "lost ten times", NOW))
        )
    )
    assert (world.trials[1].state, world.trials[1].reason) == ("error", "lost ten times")


def test_what_never_comes_is_given_up_with_a_reason() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 5, 0), is_requeued=False)))
    world.apply(
        lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("completed", 1, None, NOW)))
    )
    world.apply(lambda changes: on_overdue(changes, 1))
    assert world.trials[1].state == "completed"
    assert "not all validations and checkpoints" in (world.trials[1].reason or "")


def test_a_repeated_close_creates_nothing() -> None:
    world = started(RANDOM)
    world.close(1, "completed")
    assert world.close(1, "completed").requested == ()
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
    world = started(RANDOM)
    for number, outcome in enumerate(outcomes, 1):
        world.grant(number)
        if outcome == "completed":
            world.validate(number, 1, 0.5)
        world.close(number, outcome)
    assert world.experiment.state == state
    assert world.experiment.ended_at == NOW


def test_a_metric_that_nobody_reported_is_an_error_with_its_name() -> None:
    world = started(RANDOM)
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
    world = started(searcher)
    world.grant(1)
    decision = world.apply(lambda changes: on_validation(changes, Result(1, 1, 1, 1, values)))
    assert [j.verdict for j in decision.judged] == ["stop"]
    assert world.experiment.state == "stopping"
    assert {trial.desired_state for trial in world.trials.values()} == {DesiredState.KILL}
    for number in list(world.trials):
        world.obey(number)
    assert world.experiment.state == "error"
    assert missing in (world.experiment.reason or "")
    assert "step 1" in (world.experiment.reason or "")


def test_nan_ranks_worst_and_is_never_best() -> None:
    world = started(asha())
    world.grant(1), world.grant(2), world.grant(3)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, math.nan).judged[0].verdict == "stop"
    assert world.validate(3, 1, -math.inf).judged[0].verdict == "stop"
    assert world.experiment.best and world.experiment.best.trial == 1


def test_larger_is_better() -> None:
    world = started(asha(smaller_is_better=False))
    world.grant(1), world.grant(2), world.grant(3)
    world.validate(1, 1, 0.5)
    assert world.validate(2, 1, 0.4).judged[0].verdict == "stop"
    assert world.validate(3, 1, 0.6).judged[0].verdict == "go_on"
    assert world.experiment.best and world.experiment.best.trial == 3


@pytest.mark.parametrize("outcome", ["failed", "cancelled"])
def test_trials_that_fail_or_are_cancelled_are_no_progress(outcome: RequestOutcome) -> None:
    world = started(RANDOM)
    for number in range(1, 5):
        world.grant(number)
        world.close(number, outcome)
    assert (world.experiment.is_final, world.experiment.progress) == (True, 0.0)


@pytest.mark.parametrize("wanted", [DesiredState.CANCEL, DesiredState.KILL])
def test_a_cancelled_search_keeps_the_progress_that_it_had(wanted: DesiredState) -> None:
    world = started(RANDOM)
    world.grant(1), world.grant(2)
    world.validate(1, 1, 0.5)
    world.close(1, "completed")
    assert world.experiment.progress == 0.25
    world.apply(lambda changes: cancel(changes, wanted))  # type: ignore[arg-type]
    for number in (2, 3):
        world.obey(number)
    assert (world.experiment.state, world.experiment.progress) == ("cancelled", 0.25)


def test_failed_trials_do_not_keep_a_search_from_completing() -> None:
    world = started(RANDOM)
    for number, outcome in enumerate(("failed", "completed", "failed", "failed"), 1):
        world.grant(number)
        if outcome == "completed":
            world.validate(number, 1, 0.5)
        world.close(number, outcome)  # type: ignore[arg-type]
    assert (world.experiment.state, world.experiment.progress) == ("completed", 1.0)

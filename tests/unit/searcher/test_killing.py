"""Trials and experiments that are killed: what has no run ends at once, and nothing that was killed runs again."""

from typing import Literal

import pytest

from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport
from services.searcher.core.journal.replay import replay
from services.searcher.core.reducers.commands import cancel, kill_trial, pause, resume
from services.searcher.core.reducers.events import RequestEnd, RunEnd
from services.searcher.core.reducers.runs import on_closed, on_run_ended
from services.searcher.core.reducers.submissions import Submitted, on_submission
from shared.errors import Conflict
from shared.messages.trial_specs import DesiredState
from tests.unit.searcher.lives import RANDOM, started
from tests.unit.searcher.spending import Spending
from tests.unit.searcher.world import (
    NOW,
    SEED,
    World,
    adaptive,
    asha,
    config,
    hyperband,
    median,
    pbt,
    stored,
)

SINGLE: dict[str, object] = {"name": "single"}


def kill(world: World, number: int) -> None:
    world.apply(lambda changes: kill_trial(changes, number), number)


def test_a_killed_queued_trial_is_final_before_the_scheduler_answers_and_another_takes_its_place() -> None:
    world = started(RANDOM)
    decision = world.apply(lambda changes: kill_trial(changes, 1), 1)
    assert (world.trials[1].state, world.trials[1].reason) == ("cancelled", "killed by a user")
    assert 1 in decision.changed
    assert (decision.requested, world.trials[1].desired_state) == ((1, 3), DesiredState.KILL)
    assert (world.experiment.state, world.experiment.planned) == ("active", 4)
    assert not world.close(1, "killed").is_change, "the scheduler confirms what is known already"


def test_a_killed_running_trial_is_final_when_its_request_has_closed() -> None:
    world = started(RANDOM)
    world.grant(1)
    decision = world.apply(lambda changes: kill_trial(changes, 1), 1)
    assert (world.trials[1].state, world.trials[1].desired_state, decision.changed) == (
        "stopping",
        DesiredState.KILL,
        (1,),
    )
    assert len(world.trials) == 2, "its place is taken until its slots are free"
    world.close(1, "killed")
    assert (world.trials[1].state, world.trials[1].reason) == ("cancelled", "killed by a user")
    assert len(world.trials) == 3


def test_a_run_that_was_granted_while_its_trial_was_killed_ends_without_effect() -> None:
    world = started(SINGLE)
    kill(world, 1)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "killed")
    assert (world.trials[1].state, world.experiment.state, world.experiment.best) == (
        "cancelled",
        "cancelled",
        None,
    )


def test_a_trial_whose_run_has_reported_but_is_not_known_as_granted_is_not_called_final() -> None:
    world = started(SINGLE)
    world.validate(1, 1, 0.5)
    kill(world, 1)
    assert (world.trials[1].state, world.trials[1].desired_state) == ("stopping", DesiredState.KILL)


@pytest.mark.parametrize("is_granted", [False, True])
def test_a_single_experiment_whose_trial_is_killed_is_cancelled(is_granted: bool) -> None:
    world = started(SINGLE)
    if is_granted:
        world.grant(1)
    kill(world, 1)
    world.obey(1)
    assert world.experiment.state == "cancelled"


def test_a_killed_trial_is_not_judged_any_more_and_not_run_again() -> None:
    world = started(asha(stop_once=False))
    world.grant(1)
    kill(world, 1)
    decision = world.validate(1, 1, 0.5)
    assert [judged.verdict for judged in decision.judged] == ["stop"]
    assert world.trials[1].desired_state is DesiredState.KILL
    world.requeue(1)
    world.apply(pause)
    world.apply(resume)
    assert (world.trials[1].desired_state, world.trials[1].state) == (DesiredState.KILL, "stopping")


def test_a_trial_that_is_killed_while_it_is_parked_or_on_the_way_there_stays_killed() -> None:
    world = started(RANDOM)
    world.grant(1), world.grant(2)
    world.apply(pause)
    world.obey(2)
    kill(world, 1)
    kill(world, 2)
    assert (world.trials[1].state, world.trials[2].state) == ("stopping", "cancelled")
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 0, 0), is_requeued=False)))
    closed = world.apply(
        lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("parked", 1, None, NOW)))
    )
    assert (closed.requested, world.trials[1].state, world.experiment.state) == ((), "cancelled", "paused")
    assert world.apply(resume).requested == (3, 4)


def test_killing_a_trial_that_waits_for_what_its_last_run_announced_ends_the_wait() -> None:
    world = started(SINGLE)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "completed", checkpoints=1)
    assert world.trials[1].state == "finishing"
    kill(world, 1)
    assert (world.trials[1].state, world.experiment.state) == ("completed", "completed")


def test_killing_an_experiment_ends_the_wait_too_and_cancelling_it_does_not() -> None:
    world = started(SINGLE)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.close(1, "failed", checkpoints=1)
    world.apply(lambda changes: cancel(changes, DesiredState.CANCEL))
    assert (world.trials[1].state, world.experiment.state) == ("finishing", "stopping")
    world.apply(lambda changes: cancel(changes, DesiredState.KILL))
    assert (world.trials[1].state, world.experiment.state) == ("error", "cancelled")


@pytest.mark.parametrize(
    ("wanted", "states"),
    [(DesiredState.CANCEL, ("finishing", "stopping")), (DesiredState.KILL, ("cancelled", "cancelled"))],
)
def test_a_queued_trial_whose_last_run_is_not_stored_yet_waits_when_cancelled_and_not_when_killed(
    wanted: Literal[DesiredState.CANCEL, DesiredState.KILL], states: tuple[str, str]
) -> None:
    world = started(SINGLE)
    world.grant(1)
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 1, 0), is_requeued=True)))
    assert world.trials[1].state == "queued"
    world.apply(lambda changes: cancel(changes, wanted))
    assert (world.trials[1].state, world.experiment.state) == states


def test_the_end_of_a_budget_waits_for_the_last_results() -> None:
    world = Spending(config(RANDOM, budget={"deadline": "1h"}))
    world.apply(lambda changes: on_submission(changes, Submitted(at=NOW)))
    world.grant_all(1)
    world.after(59).look()
    assert world.trials[1].desired_state is DesiredState.STOP
    world.apply(lambda changes: on_run_ended(changes, RunEnd(1, RunEndReport(1, 1, 0), is_requeued=False)))
    world.apply(lambda changes: on_closed(changes, RequestEnd(1, 1, ClosedRequest("stopped", 1, None, NOW))))
    world.after(2).look()
    assert world.trials[1].state == "finishing"
    world.validate(1, 1, 0.5)
    assert (world.trials[1].state, world.experiment.best and world.experiment.best.value) == ("stopped", 0.5)


def test_a_trial_that_is_over_cannot_be_killed() -> None:
    world = started(RANDOM)
    kill(world, 1)
    with pytest.raises(Conflict, match=r"trial 1 has already ended \(cancelled\)") as refused:
        kill(world, 1)
    assert refused.value.code == "trial_is_cancelled"


@pytest.mark.parametrize("wanted", [DesiredState.CANCEL, DesiredState.KILL])
@pytest.mark.parametrize("is_paused", [False, True])
def test_an_experiment_without_runs_ends_before_the_scheduler_answers(
    wanted: Literal[DesiredState.CANCEL, DesiredState.KILL], is_paused: bool
) -> None:
    world = started(RANDOM)
    if is_paused:
        world.apply(pause)
    decision = world.apply(lambda changes: cancel(changes, wanted))
    assert (world.experiment.state, decision.requested) == ("cancelled", (1, 2))
    assert {trial.state for trial in world.trials.values()} == {"cancelled"}


@pytest.mark.parametrize(
    "searcher",
    [
        RANDOM,
        {"name": "grid", "max_concurrent_trials": 2},
        asha(),
        asha(stop_once=False),
        adaptive(),
        adaptive(stop_once=False),
        median(),
        hyperband(),
        pbt(),
    ],
    ids=lambda searcher: f"{searcher['name']}{'' if searcher.get('stop_once', True) else '-promotion'}",
)
def test_a_search_whose_every_trial_is_killed_makes_each_once_and_is_cancelled(
    searcher: dict[str, object],
) -> None:
    space: dict[str, object] = {"lr": {"type": "double", "minval": 0.1, "maxval": 0.9, "count": 5}}
    world = World(config(searcher, space))
    world.begin()
    for changes in range(500):
        live = [trial for trial in world.trials.values() if not trial.is_final]
        if not live:
            break
        number = live[0].number
        if changes % 2 and live[0].state == "queued":
            world.grant(number)
        kill(world, number)
        world.obey(number) if not world.trials[number].is_final else None
    assert world.experiment.state == "cancelled"
    assert len(world.trials) == world.experiment.planned
    assert {trial.request for trial in world.trials.values()} == {1}
    assert replay(world.config, SEED, stored(world.journal)) is None


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (DesiredState.KILL, "its experiment was killed"),
        (DesiredState.CANCEL, "its experiment was cancelled"),
    ],
)
def test_a_trial_that_ends_with_its_experiment_says_so(
    wanted: Literal[DesiredState.KILL, DesiredState.CANCEL], reason: str
) -> None:
    world = started(RANDOM)
    world.grant(1)
    world.apply(lambda changes: cancel(changes, wanted))
    assert (world.trials[2].state, world.trials[2].reason) == ("cancelled", reason), "it had no run"
    assert (world.trials[1].state, world.trials[1].reason) == ("stopping", reason)
    world.obey(1)
    assert (world.trials[1].state, world.trials[1].reason) == ("cancelled", reason)


def test_a_trial_keeps_its_own_reason_when_its_experiment_ends() -> None:
    world = started(RANDOM)
    world.grant(1)
    kill(world, 1)
    world.apply(lambda changes: cancel(changes, DesiredState.KILL))
    world.obey(1)
    assert world.trials[1].reason == "killed by a user"


def test_a_trial_that_ends_by_itself_while_its_experiment_is_cancelled_has_no_foreign_reason() -> None:
    world = started(RANDOM)
    world.grant(1)
    world.validate(1, 1, 0.5)
    world.apply(lambda changes: cancel(changes, DesiredState.CANCEL))
    world.close(1, "completed")
    assert (world.trials[1].state, world.trials[1].reason) == ("completed", None)


def test_a_trial_that_ends_with_a_rejected_experiment_says_why() -> None:
    world = started(RANDOM)
    rejected = ClosedRequest("rejected", 0, "pool x does not exist", NOW)
    world.apply(lambda changes: on_closed(changes, RequestEnd(1, 1, rejected)))
    assert world.trials[2].reason == "its experiment ended: pool x does not exist"

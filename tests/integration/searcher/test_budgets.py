"""The searcher keeps budgets by the clock and by what the scheduler says, and a new process goes on counting."""

from collections.abc import Callable
from datetime import timedelta
from uuid import uuid4

import pytest

from shared.errors import Rejected, Transient
from shared.ids import SITE, PoolName, RunId
from shared.messages.experiments import EditSearch, ValidateConfig
from shared.messages.pools import PoolCapacity
from shared.messages.trial_specs import DesiredState
from tests.integration.searcher.neighbours import (
    Neighbours,
    closed,
    run_ended,
    run_granted,
    searcher,
    validation,
)
from tests.integration.searcher.searches import agree_with_the_rule, document, refusals, requests
from tests.support.waiting import eventually

RANDOM = {"name": "random", "max_trials": 8, "max_concurrent_trials": 1}
HURRIED = {"MUSTER_SEARCHER__BUDGET_EVERY_S": "0.2"}


async def test_a_limit_is_kept_by_a_process_that_did_not_see_the_runs_begin(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    asked = document(RANDOM) | {"budget": {"slot_hours": 1}}
    async with searcher(settings("searcher") | HURRIED):
        experiment = await neighbours.submit(asked)
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        hour = timedelta(hours=1)
        granted = granted.model_copy(update={"granted_at": granted.granted_at - hour + timedelta(minutes=5)})
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await eventually(lambda: bool(neighbours.received.trials(experiment)[1].best))
        operation = uuid4()
        edit = EditSearch(operation_id=operation, experiment_id=experiment, slot_hours=0.93)
        await neighbours.publish(edit)

        def is_edited() -> bool:
            published = neighbours.received.experiment(experiment)
            return bool(published and published.terms and published.terms.operation_id == operation)

        await eventually(is_edited)
        published = neighbours.received.experiment(experiment)
        assert published and published.budget and published.budget.slot_hours == 0.93
        assert published.budget.used_slot_hours == pytest.approx(55 / 60, abs=0.01)
    async with searcher(settings("searcher") | HURRIED):
        await neighbours.wait_state(experiment, "stopping")
        await eventually(
            lambda: (
                neighbours.received.requests(experiment)[request.trial_id].desired_state is DesiredState.STOP
            )
        )
        await neighbours.publish(run_ended(granted, 1, outcome="stopped"))
        await neighbours.publish(closed(request, "stopped"))
        over = await neighbours.wait_state(experiment, "completed")
        assert (
            over.reason
            == "budget.slot_hours: the limit of 0.93 slot-hours is used up, or reserved for stopping running trials"
        )
        assert over.best is not None
        assert await agree_with_the_rule(neighbours, experiment, asked) > 0


async def test_cost_is_counted_at_the_price_that_the_pool_told(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    dear = document(RANDOM) | {"budget": {"cost": 3, "trial_s": 3600}, "resources": {"resource_pool": "dear"}}
    capacity = PoolCapacity(
        pool=PoolName("dear"), version=1, slots=4, used_slots=0, waiting_slots=0, price_per_slot_hour=4.0
    )
    async with searcher(settings("searcher") | HURRIED):
        await neighbours.publish(capacity, tenant=SITE)

        async def is_refused() -> bool:
            try:
                await neighbours.bus.ask(ValidateConfig(config=dear), neighbours.tenant)
            except Rejected as error:
                return "one trial costs 4" in error.message
            except Transient:
                return False
            return False

        await eventually(is_refused)
        experiment = await neighbours.submit(dear | {"budget": {"cost": 3}})
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        began = granted.granted_at - timedelta(minutes=30)
        granted = granted.model_copy(update={"granted_at": began, "pool": PoolName("dear")})
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await neighbours.publish(run_ended(granted, 1))
        await neighbours.publish(closed(request, "completed"))
        over = await neighbours.wait_state(experiment, "completed")
        assert over.reason == "budget.cost: the rest of 3 does not pay for another trial"
        assert over.budget and over.budget.used_cost == pytest.approx(2.0, abs=0.05)
        assert over.trials.planned == 1


async def test_a_price_that_rises_while_a_run_holds_slots_is_kept_to(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    """An hour at 4 leaves 6 of 10; at a million for an hour that is used up at once."""
    pool = PoolName("rising")
    asked = document(RANDOM) | {"budget": {"cost": 10}, "resources": {"resource_pool": pool}}
    published = PoolCapacity(
        pool=pool, version=1, slots=4, used_slots=0, waiting_slots=0, price_per_slot_hour=4.0
    )
    async with searcher(settings("searcher") | HURRIED):
        await neighbours.publish(published, tenant=SITE)
        experiment = await neighbours.submit(asked)
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        began = granted.granted_at - timedelta(hours=1)
        granted = granted.model_copy(update={"granted_at": began, "pool": pool})
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await eventually(lambda: bool(neighbours.received.trials(experiment)[1].best))
        dearer = published.model_copy(update={"version": 2, "price_per_slot_hour": 1e6})
        await neighbours.publish(dearer, tenant=SITE)
        await neighbours.wait_state(experiment, "stopping")
        await neighbours.publish(run_ended(granted, 1, outcome="stopped"))
        await neighbours.publish(closed(request, "stopped"))
        over = await neighbours.wait_state(experiment, "completed")
        assert (
            over.reason == "budget.cost: the limit of 10 is used up, or reserved for stopping running trials"
        )
        assert await agree_with_the_rule(neighbours, experiment, asked) > 0


async def test_a_search_that_was_begun_without_a_budget_keeps_one_that_it_is_given(
    neighbours: Neighbours, settings: Callable[[str], dict[str, str]]
) -> None:
    """What its run has used counts, though a process is asked that did not see it begin."""
    asked = document(RANDOM)
    async with searcher(settings("searcher") | HURRIED):
        experiment = await neighbours.submit(asked)
        request = (await requests(neighbours, experiment, 1))[0]
        granted = run_granted(request, RunId(uuid4()))
        granted = granted.model_copy(update={"granted_at": granted.granted_at - timedelta(minutes=30)})
        await neighbours.publish(granted)
        await neighbours.publish(validation(request, granted.run_id, 1, 1, 0.5))
        await eventually(lambda: bool(neighbours.received.trials(experiment)[1].best))
        seen = neighbours.received.experiment(experiment)
        assert seen and seen.budget is None
    async with searcher(settings("searcher") | HURRIED):
        late, edit = (
            EditSearch(operation_id=uuid4(), experiment_id=experiment, slot_hours=hours)
            for hours in (0.4, 0.51)
        )
        await neighbours.publish(late)
        await eventually(lambda: bool(refusals(neighbours, late.operation_id)))
        await neighbours.publish(edit)
        await neighbours.wait_state(experiment, "stopping")
        await neighbours.publish(run_ended(granted, 1, outcome="stopped"))
        await neighbours.publish(closed(request, "stopped"))
        over = await neighbours.wait_state(experiment, "completed")
        assert (
            over.reason
            == "budget.slot_hours: the limit of 0.51 slot-hours is used up, or reserved for stopping running trials"
        )
        assert over.budget and over.budget.used_slot_hours == pytest.approx(0.5, abs=0.02)
        assert await agree_with_the_rule(neighbours, experiment, asked) > 0

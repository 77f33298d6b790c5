"""A month's budget: who has spent it is granted nothing more that costs, until it is raised or the month is over."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from services.scheduler.core.explaining.submission_warnings import warnings_of
from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.reducers.budgets import on_spending
from services.scheduler.core.state.records.pool import Path, PoolPolicy
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.spending import BudgetSpending, month_of, next_month
from shared.messages.trial_specs import Signal
from tests.support.policies import plain
from tests.unit.scheduler.world import POOL, World, tenant_id

PRICED = plain(POOL, price_per_slot_hour=2.0)
TENANT: Path = (tenant_id(0),)
LAB: Path = (tenant_id(0), "lab")


def spend(world: World, spent: float, path: Path = TENANT, of: float = 100.0, **more: Any) -> None:
    world.cluster.apply(on_spending(world.cluster, {path: BudgetSpending(of, spent, **more)}))


def one_runs_one_waits(policy: PoolPolicy = PRICED, **more: Any) -> World:
    """Of one slot each on a machine with four; the second came when the budget was spent."""
    world = World(policy)
    world.worker("a", 4)
    world.want(1)
    world.cycle()
    spend(world, 100.0, **more)
    world.want(2)
    world.cycle()
    return world


def asked(world: World) -> set[int]:
    return {number for number in world.running() if world.run(number).preempted}


def test_nothing_more_starts_once_it_is_spent_and_what_runs_goes_on() -> None:
    world = one_runs_one_waits()
    assert (world.running(), asked(world)) == ({1}, set())
    told = explain(world.cluster, world.trial(2))
    assert told.code == "tenant_budget_spent"
    assert told.message == (
        "its tenant's budget of 100.00 for this month is spent;"
        " nothing starts in pool default until the budget is raised or the month ends"
    )
    assert world.plan().demand[POOL].waiting == 0, "no machine is brought up for what may not start"
    world.want(3, 0)
    world.cycle()
    assert world.running() == {1, 3}, "what holds no slots costs nothing"


@pytest.mark.parametrize(
    "after", [{}, {TENANT: BudgetSpending(200.0, 100.0)}, {TENANT: BudgetSpending(100.0, 0.0)}], ids=["taken", "raised", "month"]
)  # fmt: skip
def test_it_starts_when_the_budget_is_taken_away_or_raised_or_the_month_is_over(
    after: dict[Path, BudgetSpending],
) -> None:
    world = one_runs_one_waits()
    world.cluster.apply(on_spending(world.cluster, after))
    world.cycle()
    assert world.running() == {1, 2}


def test_what_is_only_near_starts_and_is_warned_of() -> None:
    world = World(PRICED)
    world.worker("a", 4)
    near = "the tenant has spent 80% of its budget for this month"
    for spent, warned in ((79.9, []), (80.0, [near])):
        spend(world, spent)
        assert list(warnings_of(world.cluster, POOL, tenant_id(0), "lab")) == warned
    world.want(1)
    world.cycle()
    assert world.running() == {1}
    spend(world, 100.0, LAB)
    (said,) = warnings_of(world.cluster, POOL, tenant_id(0), "lab")
    assert said.startswith("workspace 'lab' has spent its budget for this month: nothing more starts")
    assert not warnings_of(world.cluster, POOL, tenant_id(0), "hall")
    assert not warnings_of(world.cluster, POOL, tenant_id(1), "lab")
    spend(world, 0.0, of=0.0)
    assert "nothing more starts" in warnings_of(world.cluster, POOL, tenant_id(0), None)[0]


def test_with_preempt_running_work_is_asked_once_and_waits_then() -> None:
    world = one_runs_one_waits(preempts=True)
    because = world.run(1).asked
    assert asked(world) == {1} and because is not None and because.because == "budget"
    world.exit(1, RunExit(acknowledged=Signal.PREEMPT))
    world.cycle()
    assert world.running() == set()
    world.cluster.apply(on_spending(world.cluster, {}))
    world.cycle()
    assert world.running() == {1, 2}


def test_a_workspaces_budget_is_its_own() -> None:
    world = World(PRICED)
    # A machine serves one tenant at a time.
    world.worker("a", 8)
    world.worker("b", 8)
    spend(world, 100.0, LAB, preempts=True)
    for number, workspace, tenant in ((1, "lab", 0), (2, "hall", 0), (3, "lab", 1)):
        world.want(number, workspace=workspace, tenant=tenant, experiment=number)
    world.cycle()
    assert (world.running(), asked(world)) == ({2, 3}, set())
    assert explain(world.cluster, world.trial(1)).code == "workspace_budget_spent"


def test_no_machine_is_asked_for_that_could_pass_it_within_the_hour_and_that_is_said() -> None:
    world = World(PRICED)
    spend(world, 90.0)
    for number in range(8):
        world.want(number)
    world.cycle()
    demand = world.plan().demand[POOL]
    assert (demand.waiting, demand.unaffordable) == (5, 3), "ten are left, and an hour of a slot costs two"
    assert explain(world.cluster, world.trial(7)).message == (
        "waiting for 1 slot; pool default has no worker that accepts work; machines are rented for only 5 more slots,"
        " because its tenant could exceed its budget of 100.00 for this month within an hour"
    )
    world.worker("a", 6)
    world.cycle()
    assert len(world.running()) == 6, "what stands is used until it is spent"
    assert world.plan().demand[POOL].waiting == 0
    assert "no machine is rented, because its tenant" in explain(world.cluster, world.trial(7)).message
    spend(world, 84.0, per_hour=12.0)
    assert world.plan().demand[POOL].waiting == 2, "all that wait"
    assert "budget" not in explain(world.cluster, world.trial(7)).message


HOLDERS = [(tenant, workspace) for tenant in (0, 1) for workspace in ("lab", "hall")]
SPENDINGS = st.dictionaries(
    st.sampled_from([(tenant_id(t),) for t in (0, 1)] + [(tenant_id(t), w) for t, w in HOLDERS]),
    st.builds(BudgetSpending, st.just(100.0), st.floats(0.0, 120.0), st.just(False), st.floats(0.0, 50.0)),
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(HOLDERS), max_size=30),
    st.lists(st.tuples(SPENDINGS, st.integers(0, 4)), min_size=1, max_size=3),
)
def test_whatever_waits_and_comes_machines_are_asked_for_as_far_as_every_budget_bears(
    requests: list[tuple[int, str]], looks: list[tuple[dict[Path, BudgetSpending], int]]
) -> None:
    world = World(PRICED)
    for number, (tenant, workspace) in enumerate(requests):
        world.want(number, tenant=tenant, workspace=workspace, experiment=HOLDERS.index((tenant, workspace)))
    for at, (spending, come) in enumerate(looks):
        world.cluster.apply(on_spending(world.cluster, spending))
        before = world.running()
        for number in range(come):
            world.worker(f"w{at}-{number}")
        world.cycle()
        assert world.plan().demand[POOL].waiting == bearable(world, requests, spending, before)


def bearable(
    world: World, requests: list[tuple[int, str]], spending: dict[Path, BudgetSpending], before: set[int]
) -> int:
    """Slots that wait and could run for an hour within all budgets; `before`: what ran when was looked at what is spent."""

    def borne(path: Path, asked: int, since: int) -> int:
        if (one := spending.get(path)) is None:
            return asked
        money = one.per_month - one.spent - one.per_hour * 1.0
        return max(0, min(asked, int(max(0.0, money) / 2.0 + 1e-9) - since))

    total = 0
    for tenant in (0, 1):
        asked = granted = 0
        for workspace in ("lab", "hall"):
            mine = {number for number, whose in enumerate(requests) if whose == (tenant, workspace)}
            new = len((world.running() - before) & mine)
            asked += borne((tenant_id(tenant), workspace), len(mine - world.running()), new)
            granted += new
        total += borne((tenant_id(tenant),), asked, granted)
    return total


def test_a_pool_without_a_price_costs_nothing_until_it_has_one() -> None:
    world = one_runs_one_waits(plain(POOL), preempts=True)
    assert (world.running(), asked(world)) == ({1, 2}, set())
    world.cluster.put_pool(PRICED)
    world.want(3)
    world.cycle()
    assert world.running() == {1, 2}
    world.cluster.put_pool(replace(PRICED, price_per_slot_hour=None))
    world.cycle()
    assert world.running() == {1, 2, 3}


def test_an_account_is_due_when_it_will_be_near_then_when_it_will_be_over() -> None:
    assert BudgetSpending(100.0, 60.0, per_hour=10.0).due_in == timedelta(hours=2)
    assert BudgetSpending(100.0, 80.0, per_hour=10.0).due_in == timedelta(hours=2)
    assert BudgetSpending(100.0, 100.0, per_hour=10.0).due_in is None
    assert BudgetSpending(100.0, 60.0).due_in is None, "nothing is held"
    late = BudgetSpending(1e12, 0.0, per_hour=1e-9).due_in
    assert late is not None and late > timedelta(days=31)


def test_months_are_of_utc() -> None:
    late = datetime(2026, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert (month_of(late), next_month(late)) == (
        datetime(2026, 12, 1, tzinfo=UTC),
        datetime(2027, 1, 1, tzinfo=UTC),
    )
    assert next_month(datetime(2026, 2, 1, tzinfo=UTC)) == datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spent", "of", "reached"),
    [(79.9, 100.0, ()), (80.0, 100.0, (80,)), (99.9, 100.0, (80,)), (100.0, 100.0, (80, 100)), (0.0, 0.0, (80, 100))],
)  # fmt: skip
def test_four_fifths_and_all_of_it_are_told(spent: float, of: float, reached: tuple[int, ...]) -> None:
    assert BudgetSpending(of, spent).reached == reached

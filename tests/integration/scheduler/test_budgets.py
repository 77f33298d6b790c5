"""A month's budget is kept to by whichever leader grants: what is spent binds, and is told to whom it concerns."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from shared.errors import NotFound
from shared.ids import DEFAULT_TENANT, SITE, TenantId, new_id
from shared.messages.budgets import (
    BudgetSpent,
    BudgetState,
    BudgetStatus,
    BudgetWarned,
    GetBudgets,
    SetBudget,
)
from shared.messages.instances import ProviderChanged
from shared.messages.pools import PoolCapacity
from shared.messages.queue import Explain, ValidatePlacement
from shared.messages.runs import RunGranted
from shared.messages.trial_specs import Signal
from shared.messages.workers import WorkerJoined
from tests.integration.scheduler.fake_worker import CLOCK, POOL
from tests.integration.scheduler.platform import Platform, new_trial
from tests.support.waiting import eventually

A_SLOT = 36_000.0
"""Ten a second."""
PROVIDER: dict[str, Any] = {
    "driver": "local", "minimum": 0, "maximum": 1, "slots_per_instance": 4, "slot_kind": "cpu", "instances": 0,
}  # fmt: skip


async def budgets(around: Platform, tenant: TenantId = DEFAULT_TENANT) -> tuple[BudgetState, ...]:
    found: tuple[BudgetState, ...] = (await around.insist(GetBudgets(), tenant)).budgets
    return found


async def set_budget(around: Platform, **budget: Any) -> tuple[BudgetState, ...]:
    asked = SetBudget(budget=BudgetStatus(**budget))
    found: tuple[BudgetState, ...] = (await around.insist(asked, DEFAULT_TENANT)).budgets
    return found


async def until_waits(around: Platform, trial: UUID, code: str) -> None:
    async def does() -> bool:
        with suppress(NotFound):
            told = await around.insist(Explain(trial_id=trial), DEFAULT_TENANT)
            return bool(told.code == code)
        return False

    await eventually(does)


async def test_once_a_months_budget_is_spent_nothing_starts_and_what_runs_goes_on_or_is_asked(
    around: Platform,
) -> None:
    first, second = new_trial(), new_trial()
    async with around.scheduler() as leader, around.worker("m1", slots=3) as worker:
        await eventually(lambda: around.told(WorkerJoined))
        price = ProviderChanged(pool=POOL, version=1, price_per_slot_hour=A_SLOT, **PROVIDER)
        await around.tell(price, SITE)
        await eventually(lambda: any(one.price_per_slot_hour == A_SLOT for one in around.told(PoolCapacity)))
        await around.want(first, workspace="lab")
        await eventually(lambda: first in worker.running)
        (state,) = await set_budget(around, workspace="lab", per_month=20.0)
        assert (state.tenant, state.budget.per_month) == (DEFAULT_TENANT, 20.0) and state.spent > 0
        placing = ValidatePlacement(pool=POOL, workspace="lab", min_slots=1, max_slots=1)

        async def is_spent() -> bool:
            warned = (await around.ask(placing, DEFAULT_TENANT)).warnings
            return any("has spent its budget" in one for one in warned)

        await eventually(is_spent)
        (state,) = await budgets(around)
        assert state.spent >= 20.0
        await around.want(second, workspace="lab")
        await until_waits(around, second, "workspace_budget_spent")
        assert await budgets(around, TenantId(new_id(CLOCK))) == (), "a tenant sees its own only"
        assert [one.tenant for one in await budgets(around, SITE)] == [DEFAULT_TENANT]
        await eventually(lambda: bool(around.told(BudgetSpent)))
        await leader.kill()
        async with around.scheduler():
            await until_waits(around, second, "workspace_budget_spent")
            told = [*around.told(BudgetWarned), *around.told(BudgetSpent)]
            assert [(one.workspace, one.per_month, one.percent) for one in told] == [
                ("lab", 20.0, 80),
                ("lab", 20.0, 100),
            ], "once a month, whoever leads"
            assert all(one.spent >= one.per_month * one.percent / 100 for one in told)
            assert first in worker.running and worker.wanted(first) is not Signal.PREEMPT
            assert not around.told(RunGranted, second)
            await set_budget(around, workspace="lab", per_month=20.0, preempts=True)
            await eventually(lambda: worker.wanted(first) is Signal.PREEMPT)
            assert not await set_budget(around, workspace="lab")
            await around.heard(RunGranted, second)
            for trial in (first, second):
                await worker.exit(trial)

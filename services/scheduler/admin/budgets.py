"""Tracks budgets: passes the spending to the cycle, publishes when a budget reaches a threshold, and answers
queries. `core/reducers/budgets` enforces budgets."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from services.scheduler.core.reducers.budgets import on_spending
from services.scheduler.core.state.records.pool import Path
from services.scheduler.core.state.records.spending import OVER_PERCENT, month_of, next_month
from services.scheduler.cycle import Cycle
from services.scheduler.store.budgets import (
    BudgetAccount,
    claim_unreported,
    load_accounts,
    save_budget,
    spending_of,
)
from shared.bus import RequestContext, Units
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import derived_id
from shared.messages.budgets import (
    BudgetReached,
    BudgetSpent,
    BudgetState,
    BudgetStates,
    BudgetStatus,
    BudgetWarned,
    GetBudgets,
    SetBudget,
)

LOOK_EVERY_S = 60.0
"""Finds budgets that a handler of an earlier leader stored late."""
GATHER_S = 10.0
"""Grants make a check due; those within this time share one."""
SOON_S = 1.0
_log = structlog.get_logger()


@dataclass(slots=True)
class BudgetMonitor:
    """Checks when a budget was set, when a grant costs money, and when a threshold will be reached at the
    current rate."""

    cycle: Cycle
    database: Database
    units: Units
    clock: Clock
    _published: dict[Path, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, ended: asyncio.Event) -> None:
        while not ended.is_set():
            self._changed.clear()
            self.cycle.spending.clear()
            accounts = await self._look()
            pause_s = self._pause_s(accounts)
            urgent = (ended, self._changed)
            if await _first(urgent, min(pause_s, GATHER_S)) or pause_s <= GATHER_S:
                continue
            grants = (self.cycle.spending,) if accounts else ()
            await _first((*urgent, *grants), pause_s - GATHER_S)

    async def get(self, ask: RequestContext, query: GetBudgets) -> BudgetStates:
        now = self.clock.now()
        month = month_of(now)
        async with self.database.tenant(ask.tenant) as connection:
            accounts = await load_accounts(connection, month, now)
        states = [
            BudgetState(tenant=one.tenant, budget=_budget(one), spent=one.spending.spent, since=month)
            for one in accounts
        ]
        return BudgetStates(budgets=tuple(states))

    async def set(self, ask: RequestContext, query: SetBudget) -> BudgetStates:
        async with self.database.tenant(ask.tenant) as connection:
            await save_budget(connection, ask.tenant, query.budget)
        self._changed.set()
        return await self.get(ask, GetBudgets())

    async def _look(self) -> Sequence[BudgetAccount]:
        now = self.clock.now()
        async with self.database.system() as connection:
            accounts = await load_accounts(connection, month_of(now), now)
        spending = spending_of(accounts)

        def take_up(cycle: Cycle) -> None:
            cycle.cluster.apply(on_spending(cycle.cluster, spending))

        self.cycle.push(take_up)
        await self._publish(accounts, month_of(now))
        return accounts

    def _pause_s(self, accounts: Iterable[BudgetAccount]) -> float:
        now = self.clock.now()
        dues = [due for one in accounts if (due := one.spending.due_in) is not None]
        due = min([*dues, next_month(now) - now, timedelta(seconds=LOOK_EVERY_S)])
        return max(SOON_S, due.total_seconds())

    async def _publish(self, accounts: Sequence[BudgetAccount], month: datetime) -> None:
        """Publish each threshold once, across leaders. Thresholds that this term has published are not looked
        up again."""
        new = [
            one
            for one in accounts
            if one.spending.reached and self._published.get(one.path) != _progress(one)
        ]
        if new:
            async with self.units.system() as unit:
                for one, percent in await claim_unreported(unit.connection, new, month):
                    unit.emit(_reached(one, percent, month), tenant=one.tenant)
                    _log.warning(
                        "a budget has reached a threshold",
                        tenant=str(one.tenant),
                        workspace=one.workspace,
                        percent=percent,
                        spent=one.spending.spent,
                        per_month=one.spending.per_month,
                    )
        self._published = {one.path: _progress(one) for one in accounts}


def _progress(one: BudgetAccount) -> tuple[float, tuple[int, ...]]:
    return one.spending.per_month, one.spending.reached


def _reached(one: BudgetAccount, percent: int, month: datetime) -> BudgetReached:
    kind = BudgetSpent if percent >= OVER_PERCENT else BudgetWarned
    return kind(
        budget_id=derived_id(one.tenant, "budget", one.workspace or ""),
        version=percent,
        workspace=one.workspace,
        per_month=one.spending.per_month,
        spent=one.spending.spent,
        percent=percent,
        since=month,
        preempts=one.spending.preempts,
    )


def _budget(one: BudgetAccount) -> BudgetStatus:
    return BudgetStatus(
        workspace=one.workspace, per_month=one.spending.per_month, preempts=one.spending.preempts
    )


async def _first(events: Iterable[asyncio.Event], timeout_s: float) -> bool:
    """Wait until one of the events is set; False: timeout."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return bool(done)

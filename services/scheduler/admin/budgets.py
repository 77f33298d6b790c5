"""Keeps the cycle told of what was spent of budgets, tells when one is all but spent, and answers who asks. Neighbour: `core/reducers/budgets`, which rules."""

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
"""What nobody has told of: a budget that a handler of the leader before stored late."""
GATHER_S = 10.0
"""Grants make a look due; those of so long share one."""
SOON_S = 1.0
_log = structlog.get_logger()


@dataclass(slots=True)
class BudgetMonitor:
    """Looks when a budget was set, when something that costs was granted, and when one will be near or over as it goes."""

    cycle: Cycle
    database: Database
    units: Units
    clock: Clock
    _told: dict[Path, tuple[float, tuple[int, ...]]] = field(default_factory=dict)
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
        await self._tell(accounts, month_of(now))
        return accounts

    def _pause_s(self, accounts: Iterable[BudgetAccount]) -> float:
        now = self.clock.now()
        dues = [due for one in accounts if (due := one.spending.due_in) is not None]
        due = min([*dues, next_month(now) - now, timedelta(seconds=LOOK_EVERY_S)])
        return max(SOON_S, due.total_seconds())

    async def _tell(self, accounts: Sequence[BudgetAccount], month: datetime) -> None:
        """Once for each part that one comes to, whoever leads; what this term has told of is not asked of the database again."""
        new = [one for one in accounts if one.spending.reached and self._told.get(one.path) != _standing(one)]
        if new:
            async with self.units.system() as unit:
                for one, percent in await claim_unreported(unit.connection, new, month):
                    unit.emit(_reached(one, percent, month), tenant=one.tenant)
                    _log.warning(
                        "a budget was used up as far as this",
                        tenant=str(one.tenant),
                        workspace=one.workspace,
                        percent=percent,
                        spent=one.spending.spent,
                        per_month=one.spending.per_month,
                    )
        self._told = {one.path: _standing(one) for one in accounts}


def _standing(one: BudgetAccount) -> tuple[float, tuple[int, ...]]:
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
    """Waits until one of them is set; False: none was in time."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        done, _ = await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return bool(done)

"""Budgets and their spending, summed from the usage entries since the start of the month."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    DateTime,
    Numeric,
    Select,
    and_,
    cast,
    delete,
    extract,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.records.pool import Path
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.store.tables import budget, budget_notice, usage_entry
from shared.ids import TenantId
from shared.messages.budgets import BudgetStatus


class BudgetAccount(NamedTuple):
    """A budget (without a workspace: the tenant's) and its spending."""

    tenant: TenantId
    workspace: str | None
    spending: BudgetSpending

    @property
    def path(self) -> Path:
        return (self.tenant,) if self.workspace is None else (self.tenant, self.workspace)


async def save_budget(connection: AsyncConnection, tenant: TenantId, given: BudgetStatus) -> None:
    """Replace a budget; without an amount, delete it."""
    workspace = given.workspace or ""
    if given.per_month is None:
        here = (budget.c.tenant == tenant, budget.c.workspace == workspace)
        await connection.execute(delete(budget).where(*here))
        return
    values = {"per_month": given.per_month, "preempts": given.preempts}
    save = insert(budget).values(tenant=tenant, workspace=workspace, **values)
    await connection.execute(save.on_conflict_do_update(index_elements=["tenant", "workspace"], set_=values))


async def load_accounts(connection: AsyncConnection, month: datetime, now: datetime) -> list[BudgetAccount]:
    """Load the budgets, each tenant's own first. The connection determines which tenants are visible."""
    return [
        BudgetAccount(
            TenantId(row.tenant),
            row.workspace or None,
            BudgetSpending(row.per_month, float(row.spent), row.preempts, float(row.per_hour)),
        )
        for row in await connection.execute(_spent(month, now))
    ]


def spending_of(accounts: Iterable[BudgetAccount]) -> dict[Path, BudgetSpending]:
    """Return the spending by holder, as the core expects it."""
    return {one.path: one.spending for one in accounts}


async def claim_unreported(
    connection: AsyncConnection, accounts: Iterable[BudgetAccount], month: datetime
) -> list[tuple[BudgetAccount, int]]:
    """Return the budgets and thresholds that were reached and not yet published this month, and mark them as
    published."""
    await connection.execute(delete(budget_notice).where(budget_notice.c.month < month))
    found = []
    for one in accounts:
        for percent in one.spending.reached:
            mark = insert(budget_notice).values(
                tenant=one.tenant,
                workspace=one.workspace or "",
                month=month,
                per_month=one.spending.per_month,
                percent=percent,
            )
            if (await connection.execute(mark.on_conflict_do_nothing())).rowcount:
                found.append((one, percent))
    return found


def _spent(month: datetime, now: datetime) -> Select[Any]:
    """Each budget with the cost of its usage since the start of the month, and the hourly cost of the slots
    held now."""
    held, at = usage_entry.c, literal(now, DateTime(timezone=True))
    rate = held.slots * cast(held.price_per_slot_hour, Numeric)
    until = func.least(func.coalesce(held.until, at), at)
    since = func.greatest(held.since, literal(month, DateTime(timezone=True)))
    is_counted = (
        held.tenant == budget.c.tenant,
        or_(budget.c.workspace == "", held.workspace == budget.c.workspace),
        held.since < now,
        or_(held.until > month, held.until.is_(None)),
    )
    return (
        select(
            budget,
            (func.coalesce(func.sum(rate * extract("epoch", until - since)), 0) / 3600).label("spent"),
            func.coalesce(func.sum(rate).filter(held.until.is_(None)), 0).label("per_hour"),
        )
        .outerjoin(usage_entry, and_(*is_counted))
        .group_by(budget.c.tenant, budget.c.workspace)
        .order_by(budget.c.tenant, budget.c.workspace)
    )

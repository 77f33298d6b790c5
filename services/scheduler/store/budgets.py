"""Budgets, and what was spent of them: added up from the holdings since the month began."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.shares import Path
from services.scheduler.core.spending import Spending
from shared.ids import TenantId
from shared.messages.budgets import Budget

_SAVE = text(
    "INSERT INTO scheduler.budget (tenant, workspace, per_month, preempts)"
    " VALUES (:tenant, :workspace, :per_month, :preempts) ON CONFLICT (tenant, workspace)"
    " DO UPDATE SET per_month = excluded.per_month, preempts = excluded.preempts"
)
_DELETE = text("DELETE FROM scheduler.budget WHERE tenant = :tenant AND workspace = :workspace")
_SPENT = text(
    "SELECT b.*, coalesce(sum(h.slots * h.price_per_slot_hour::numeric"
    " * extract(epoch FROM least(coalesce(h.until, :now), :now) - greatest(h.since, :month))), 0) / 3600 AS spent,"
    " coalesce(sum(h.slots * h.price_per_slot_hour::numeric) FILTER (WHERE h.until IS NULL), 0) AS per_hour"
    " FROM scheduler.budget b LEFT JOIN scheduler.holding h ON h.tenant = b.tenant"
    " AND (b.workspace = '' OR h.workspace = b.workspace) AND h.since < :now AND (h.until > :month OR h.until IS NULL)"
    " GROUP BY b.tenant, b.workspace ORDER BY b.tenant, b.workspace"
)

_TELL = text(
    "INSERT INTO scheduler.budget_told (tenant, workspace, month, per_month, percent)"
    " VALUES (:tenant, :workspace, :month, :per_month, :percent) ON CONFLICT DO NOTHING"
)
_FORGET = text("DELETE FROM scheduler.budget_told WHERE month < :month")


class Account(NamedTuple):
    """Whose budget it is (without a workspace the tenant's), and how much of it is spent."""

    tenant: TenantId
    workspace: str | None
    spending: Spending

    @property
    def path(self) -> Path:
        return (self.tenant,) if self.workspace is None else (self.tenant, self.workspace)


async def save_budget(connection: AsyncConnection, tenant: TenantId, budget: Budget) -> None:
    """Puts it in the place of the one before; without an amount there is none any more."""
    key = {"tenant": tenant, "workspace": budget.workspace or ""}
    if budget.per_month is None:
        await connection.execute(_DELETE, key)
    else:
        await connection.execute(_SAVE, {**key, "per_month": budget.per_month, "preempts": budget.preempts})


async def load_accounts(connection: AsyncConnection, month: datetime, now: datetime) -> list[Account]:
    """Of each tenant its own first; which tenants are seen is the connection's matter."""
    return [
        Account(
            TenantId(row.tenant),
            row.workspace or None,
            Spending(row.per_month, float(row.spent), row.preempts, float(row.per_hour)),
        )
        for row in await connection.execute(_SPENT, {"month": month, "now": now})
    ]


def spending_of(accounts: Iterable[Account]) -> dict[Path, Spending]:
    """By holder, as the core takes it."""
    return {one.path: one.spending for one in accounts}


async def take_untold(
    connection: AsyncConnection, accounts: Iterable[Account], month: datetime
) -> list[tuple[Account, int]]:
    """Whose budgets have come to which percent and were not told of it this month; from now on they were."""
    await connection.execute(_FORGET, {"month": month})
    found = []
    for one in accounts:
        for percent in one.spending.reached:
            key = {"tenant": one.tenant, "workspace": one.workspace or "", "month": month}
            told = await connection.execute(
                _TELL, {**key, "per_month": one.spending.per_month, "percent": percent}
            )
            if told.rowcount:
                found.append((one, percent))
    return found

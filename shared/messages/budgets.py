"""Budgets: what a tenant or a workspace may spend in a month, and what it has spent."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import TenantId
from shared.messages.base import Event, Query, Record


class BudgetStatus(Record):
    """Monthly budget of a workspace, or of the tenant if `workspace` is None. `per_month` None: no budget.

    Amounts are in the currency of the pool prices; months are in UTC. When the budget is spent, no run is granted slots that cost. With
    `preempts`, runs that hold such slots are preempted.
    """

    workspace: str | None = None
    per_month: float | None = Field(default=None, ge=0)
    preempts: bool = False


class BudgetState(Record):
    """A budget and the amount spent since `since`."""

    tenant: TenantId
    budget: BudgetStatus
    spent: float
    since: datetime


class BudgetReached(Event):
    """How much of a budget is used. Published once for each month, amount and `percent`."""

    budget_id: UUID
    version: int
    workspace: str | None = None
    per_month: float
    spent: float
    percent: int
    since: datetime
    preempts: bool = False


class BudgetWarned(BudgetReached, entity="budget", happened="warned"):
    """scheduler → gateway: 80 % of a month's budget is spent."""


class BudgetSpent(BudgetReached, entity="budget", happened="spent"):
    """scheduler → gateway: a month's budget is spent; nothing that costs is granted any more."""


class BudgetStates(BaseModel):
    """By tenant: its own budget first, then those of its workspaces by name."""

    budgets: tuple[BudgetState, ...]


class GetBudgets(Query[BudgetStates], owner="scheduler", name="budgets"):
    """Return the budgets of the asking tenant; for the site, those of all tenants."""


class SetBudget(Query[BudgetStates], owner="scheduler", name="set_budget"):
    """Replace a budget of the asking tenant. A budget without an amount deletes it. Answers like `GetBudgets`."""

    budget: BudgetStatus

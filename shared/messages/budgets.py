"""Budgets: what a tenant, or a workspace of one, may spend in a month, and has."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from shared.ids import TenantId
from shared.messages.base import Event, Query, Record


class BudgetStatus(Record):
    """Without a workspace the tenant's. `per_month` None: none. Money is in the currency of the pools' prices; months are of UTC.

    Once it is spent no run is granted slots that cost; with `preempts` those that have some are asked for them.
    """

    workspace: str | None = None
    per_month: float | None = Field(default=None, ge=0)
    preempts: bool = False


class BudgetState(Record):
    """A budget and what was spent of it since `since`."""

    tenant: TenantId
    budget: BudgetStatus
    spent: float
    since: datetime


class BudgetReached(Event):
    """How far a budget is used up: told once for each month, amount and `percent` of it."""

    budget_id: UUID
    version: int
    workspace: str | None = None
    per_month: float
    spent: float
    percent: int
    since: datetime
    preempts: bool = False


class BudgetWarned(BudgetReached, entity="budget", happened="warned"):
    """scheduler → gateway: four fifths of a month's budget are spent."""


class BudgetSpent(BudgetReached, entity="budget", happened="spent"):
    """scheduler → gateway: all of it is, and nothing more that costs is granted."""


class BudgetStates(BaseModel):
    """By tenant, its own first, then those of its workspaces by name."""

    budgets: tuple[BudgetState, ...]


class GetBudgets(Query[BudgetStates], owner="scheduler", name="budgets"):
    """The budgets of the asking tenant; asked for the site, of all."""


class SetBudget(Query[BudgetStates], owner="scheduler", name="set_budget"):
    """Puts a budget of the asking tenant in the place of the one before; one without an amount takes it away. Answers as `GetBudgets`."""

    budget: BudgetStatus

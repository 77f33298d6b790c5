"""API schema of the monthly budgets of tenants and workspaces."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Money = Annotated[float, Field(ge=0, le=1e12)]


class WhenSpent(StrEnum):
    """The effect on running trials when the budget is spent: `hold` lets them continue; `preempt` makes them save and release their slots."""

    HOLD = "hold"
    PREEMPT = "preempt"


class MonthlyBudget(Resource):
    """A monthly budget in the currency of the pools' prices. Months are in UTC. Pools whose machines have no price cost nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="Null for the tenant's own budget.")
    per_month: float | None = Field(default=None, description="Null if no budget is set.")
    when_spent: WhenSpent = WhenSpent.HOLD
    spent: float = Field(default=0.0, description="Amount spent since `since`.")
    since: datetime | None = Field(default=None, description="Start of the month.")
    warnings: list[str] = Field(default=[], description="Warnings about the budget that this request set.")


class MonthlyBudgets(Resource):
    """Budgets by tenant: the tenant's own first, then those of its workspaces by name."""

    items: list[MonthlyBudget]


class SetTenantBudgetRequest(Request):
    """The new budget of a tenant. It replaces the current one; omit `per_month` to remove it."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Name of the tenant; the caller's own by default."
    )
    per_month: Money | None = None
    when_spent: WhenSpent = WhenSpent.HOLD


class SetWorkspaceBudgetRequest(Request):
    """The new budget of a workspace. It replaces the current one; omit `per_month` to remove it."""

    workspace: Name
    per_month: Money | None = None
    when_spent: WhenSpent = WhenSpent.HOLD

"""What a tenant and its workspaces may spend in a month, as users see it."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Money = Annotated[float, Field(ge=0, le=1e12)]


class WhenSpent(StrEnum):
    """What becomes of running work once a budget is spent: it goes on, or saves and gives its slots back."""

    HOLD = "hold"
    PREEMPT = "preempt"


class MonthlyBudget(Resource):
    """Money in the currency of the pools' prices; months are of UTC. Pools whose machines have no price cost nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    per_month: float | None = Field(default=None, description="None: no budget any more.")
    when_spent: WhenSpent = WhenSpent.HOLD
    spent: float = Field(default=0.0, description="Since `since`, up to now.")
    since: datetime | None = Field(default=None, description="When the month began.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class MonthlyBudgets(Resource):
    """By tenant: its own first, then those of its workspaces by name."""

    items: list[MonthlyBudget]


class SetTenantBudgetRequest(Request):
    """A tenant's budget, in place of the one before; without an amount it is taken away."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="By its name; by default the caller's own."
    )
    per_month: Money | None = None
    when_spent: WhenSpent = WhenSpent.HOLD


class SetWorkspaceBudgetRequest(Request):
    """A workspace's budget, in place of the one before; without an amount it is taken away."""

    workspace: Name
    per_month: Money | None = None
    when_spent: WhenSpent = WhenSpent.HOLD

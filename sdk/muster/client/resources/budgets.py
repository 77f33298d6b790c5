"""Monthly budgets and spending.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.budgets` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.budgets import HandwrittenBudgets


class Budgets(HandwrittenBudgets):
    """Monthly budgets and spending."""

    def list(self) -> Sequence[models.MonthlyBudget]:
        """List the monthly budgets of the caller's tenant and its workspaces, and the amounts spent. Site operators see the budget of every tenant."""
        return self._transport.get(models.MonthlyBudgets, "/v1/budgets").items


class AsyncBudgets(AsyncAPIResource[Budgets]):
    """`Budgets`, awaited."""

    set = awaited(Budgets.set)
    list = awaited(Budgets.list)

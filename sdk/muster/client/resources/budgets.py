"""What is spent in a month, and may be.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.budgets` has the other methods.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.handwritten.budgets import HandwrittenBudgets


class Budgets(HandwrittenBudgets):
    """What is spent in a month, and may be."""

    def list(self) -> Sequence[models.MonthlyBudget]:
        """Lists what the caller's tenant and its workspaces may spend in a month, and have, as far as their usage is seen; an operator sees every tenant's own."""
        return self._transport.get(models.MonthlyBudgets, "/v1/budgets").items


class AsyncBudgets(AsyncAPIResource[Budgets]):
    """`Budgets`, awaited."""

    set = awaited(Budgets.set)
    list = awaited(Budgets.list)

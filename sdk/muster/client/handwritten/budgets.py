"""Sets the budget of a tenant or a workspace."""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import json_body


class HandwrittenBudgets(APIResource):
    """The methods of `client.budgets` that are not generated."""

    def set(
        self,
        workspace: str | None = None,
        *,
        tenant: str | None = None,
        per_month: float | None = None,
        when_spent: models.WhenSpent = models.WhenSpent.HOLD,
    ) -> models.MonthlyBudget:
        """Say what a workspace, or without one a tenant (by default one's own), may spend in a month; without an amount it has no budget.

        `when_spent`: whether running work goes on once it is spent, or saves and gives its slots back; nothing more starts in any case.
        """
        body = json_body(workspace=workspace, tenant=tenant, per_month=per_month, when_spent=when_spent)
        path = "/v1/budgets/tenant" if workspace is None else "/v1/budgets/workspace"
        return self._transport.put(models.MonthlyBudget, path, body)

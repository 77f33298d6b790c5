"""Set budgets of tenants and workspaces."""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import json_body


class HandwrittenBudgets(APIResource):
    """Methods of `client.budgets` that are not generated."""

    def set(
        self,
        workspace: str | None = None,
        *,
        tenant: str | None = None,
        per_month: float | None = None,
        when_spent: models.WhenSpent = models.WhenSpent.HOLD,
    ) -> models.MonthlyBudget:
        """Set the monthly budget of a workspace, or of a tenant (by default your own); without an amount, remove it.

        `when_spent` decides whether running trials continue or are preempted when the budget is spent; no new trials start either way.
        """
        body = json_body(workspace=workspace, tenant=tenant, per_month=per_month, when_spent=when_spent)
        path = "/v1/budgets/tenant" if workspace is None else "/v1/budgets/workspace"
        return self._transport.put(models.MonthlyBudget, path, body)

"""Set quotas of tenants and workspaces."""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import json_body


class HandwrittenQuotas(APIResource):
    """Methods of `client.quotas` that are not generated."""

    def set(
        self,
        workspace: str | None = None,
        *,
        tenant: str | None = None,
        max_experiments: int | None = None,
        requests_per_s: float | None = None,
        max_stored_bytes: int | None = None,
    ) -> models.WorkQuota:
        """Set the quota of a workspace, or of a tenant (by default your own), replacing the previous one.

        `max_stored_bytes` applies to workspaces; `set_storage_limit` sets a tenant's.
        """
        body = json_body(
            workspace=workspace,
            tenant=tenant,
            max_experiments=max_experiments,
            requests_per_s=requests_per_s,
            max_stored_bytes=max_stored_bytes,
        )
        path = "/v1/quotas/tenant" if workspace is None else "/v1/quotas/workspace"
        return self._transport.put(models.WorkQuota, path, body)

"""Policies that limit or override experiment configs.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import json_body, text
from muster.client.http.transport import Reference
from muster.client.models import JsonObject


class Policies(APIResource):
    """Policies that limit or override experiment configs."""

    def list(self) -> Sequence[models.ConfigPolicy]:
        """List the policies of the tenant and of the workspaces that the caller may read."""
        return self._transport.get(models.ConfigPolicies, "/v1/policies").items

    def set(
        self,
        workspace: Reference | None = None,
        *,
        invariant_config: JsonObject | None = None,
        max_slots: int | None = None,
        priority_limit: int | None = None,
    ) -> models.ConfigPolicy:
        """Set the policy on experiment configs in a workspace or the whole tenant.

        Args:
            workspace: None: the whole tenant.
        """
        return self._transport.put(
            models.ConfigPolicy,
            "/v1/policies",
            json_body(
                workspace=text(workspace),
                invariant_config=invariant_config,
                max_slots=max_slots,
                priority_limit=priority_limit,
            ),
        )


class AsyncPolicies(AsyncAPIResource[Policies]):
    """`Policies`, awaited."""

    list = awaited(Policies.list)
    set = awaited(Policies.set)

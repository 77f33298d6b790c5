"""What experiments' configs are held to.

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
    """What experiments' configs are held to."""

    def list(self) -> Sequence[models.ConfigPolicy]:
        """Shows what configs are held to in the caller's tenant, and in those of its workspaces that the caller sees."""
        return self._transport.get(models.ConfigPolicies, "/v1/policies").items

    def set(
        self,
        workspace: Reference | None = None,
        *,
        invariant_config: JsonObject | None = None,
        max_slots: int | None = None,
        priority_limit: int | None = None,
    ) -> models.ConfigPolicy:
        """Says what configs are held to from now on, in a workspace or the whole tenant.

        Args:
            workspace: None: all workspaces of the tenant.
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

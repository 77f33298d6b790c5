"""Workspaces, which contain experiments, models, roles and rules.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import query_params
from muster.client.http.transport import Reference, segment


class Workspaces(APIResource):
    """Workspaces, which contain experiments, models, roles and rules."""

    def delete(self, workspace: Reference, *, force: bool = False) -> models.Deletion:
        """Delete all experiments and models of a workspace, and its policies, role bindings and limits.

        Args:
            force: Also delete model versions that are registered from it.
        """
        return self._transport.delete(
            models.Deletion, f"/v1/workspaces/{segment(workspace)}", query_params(force=force)
        )


class AsyncWorkspaces(AsyncAPIResource[Workspaces]):
    """`Workspaces`, awaited."""

    delete = awaited(Workspaces.delete)

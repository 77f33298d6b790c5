"""Workspaces: names that experiments, models, roles and rules stand under.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited
from muster.client.http.fields import query_params
from muster.client.http.transport import Reference, segment


class Workspaces(APIResource):
    """Workspaces: names that experiments, models, roles and rules stand under."""

    def delete(self, workspace: Reference, *, force: bool = False) -> models.Deletion:
        """Deletes all experiments and models of a workspace, and the rules, roles and limits in it.

        Args:
            force: Also where versions of models are registered of it: they are deleted too.
        """
        return self._transport.delete(
            models.Deletion, f"/v1/workspaces/{segment(workspace)}", query_params(force=force)
        )


class AsyncWorkspaces(AsyncAPIResource[Workspaces]):
    """`Workspaces`, awaited."""

    delete = awaited(Workspaces.delete)

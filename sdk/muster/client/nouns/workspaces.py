"""Workspaces: names that experiments, models, roles and rules stand under.

Generated from the gateway's table of operations by `make gen`: change that.
"""

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited
from muster.client.http.fields import query_of
from muster.client.http.transport import Reference, segment
from muster.client.noun import Noun


class Workspaces(Noun):
    """Workspaces: names that experiments, models, roles and rules stand under."""

    def delete(self, workspace: Reference, *, force: bool = False) -> models.Deletion:
        """Deletes all experiments and models of a workspace, and the rules, roles and limits in it.

        Args:
            force: Also where versions of models are registered of it: they are deleted too.
        """
        return self._transport.delete(
            models.Deletion, f"/v1/workspaces/{segment(workspace)}", query_of(force=force)
        )


class AsyncWorkspaces(AsyncNoun[Workspaces]):
    """`Workspaces`, awaited."""

    delete = awaited(Workspaces.delete)

"""Workspaces: a name that experiments, models, roles and rules stand under."""

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited
from muster.client.transport import Transport, segment


class Workspaces:
    """The workspaces of the caller's tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def delete(self, workspace: str, *, force: bool = False) -> models.Deletion:
        """Delete all experiments and models of a workspace, and the rules, roles and limits in it.

        Args:
            force: Also where versions of models elsewhere are registered of its experiments; they are deleted too.
        """
        path = f"/v1/workspaces/{segment(workspace)}"
        return self._transport.delete(models.Deletion, path, {"force": force})


class AsyncWorkspaces(AsyncNoun[Workspaces]):
    """`Workspaces`, awaited."""

    delete = awaited(Workspaces.delete)

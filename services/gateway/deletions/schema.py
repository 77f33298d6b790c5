"""Deleting experiments, workspaces and tenants with all that they have."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from services.gateway.platform.commands.schema import OperationState
from services.gateway.platform.schema import Reference, Request, Resource

_FORCE = Field(
    default=False, description="Also where versions of models are registered of it: they are deleted too."
)


class Deletion(Resource):
    """The deletion of something, which every service takes part in."""

    id: UUID
    scope: str = Field(description="`experiment`, `workspace` or `tenant`.")
    name: str = Field(description="Of an experiment its number.")
    state: OperationState
    stage: str = Field(
        description="What is waited for: `ending` of what trains, `registry`, `owners` (searcher and scheduler), `gateway`; `done`; `refused`."
    )
    created_at: datetime
    ended_at: datetime | None = None


class DeleteExperimentRequest(Request):
    """An experiment with its trials, metrics, logs and checkpoints. What trains is ended first."""

    experiment: Reference
    force: bool = _FORCE


class DeleteWorkspaceRequest(Request):
    """All experiments and models of a workspace, and the rules, roles and limits in it."""

    workspace: Reference
    force: bool = _FORCE


class DeleteTenantRequest(Request):
    """Everything that a tenant has; its audit log stays. Nobody of it comes in any more from then on."""

    tenant: Reference

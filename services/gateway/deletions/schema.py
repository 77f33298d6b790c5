"""API schema of deletions of experiments, workspaces and tenants."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from services.gateway.platform.commands.schema import OperationState
from services.gateway.platform.schema import Reference, Request, Resource

_FORCE = Field(default=False, description="Also delete model versions that are registered from it.")


class Deletion(Resource):
    """The deletion of an experiment, workspace or tenant in all services."""

    id: UUID
    scope: str = Field(description="`experiment`, `workspace` or `tenant`.")
    name: str = Field(description="Name of the target; for an experiment, its number.")
    state: OperationState
    stage: str = Field(
        description="The stage that the deletion waits for: `ending` (running trials end), `registry`, `owners` (searcher and scheduler) or `gateway`; finally `done` or `refused`."
    )
    created_at: datetime
    ended_at: datetime | None = None


class DeleteExperimentRequest(Request):
    """An experiment to delete with its trials, metrics, logs and checkpoints. Running trials are killed first."""

    experiment: Reference
    force: bool = _FORCE


class DeleteWorkspaceRequest(Request):
    """A workspace to delete with its experiments, models, policies, role bindings and limits."""

    workspace: Reference
    force: bool = _FORCE


class DeleteTenantRequest(Request):
    """A tenant to delete with everything except its audit log. Its users and tokens lose access."""

    tenant: Reference

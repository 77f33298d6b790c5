"""Requests and responses for quotas of tenants and workspaces."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Experiments = Annotated[int, Field(ge=0, le=1_000_000)]
RequestsPerSecond = Annotated[float, Field(ge=0.1, le=1_000_000)]
StoredBytes = Annotated[int, Field(ge=0, le=2**62)]


class WorkQuota(Resource):
    """Limits on open experiments, on requests per second and, for a workspace, on stored bytes. Null means no limit."""

    tenant: str
    workspace: str | None = Field(default=None, description="Null: the quota applies to the whole tenant.")
    max_experiments: int | None = Field(
        default=None,
        description="Maximum number of experiments that are submitted and not over, running or not.",
    )
    requests_per_s: float | None = Field(
        default=None,
        description="Maximum requests per second. Bursts of up to twice the rate are allowed. A workspace's limit counts the callers whose roles are all in that workspace.",
    )
    max_stored_bytes: int | None = Field(
        default=None,
        description="Maximum bytes of a workspace's checkpoints and media; identical content counts once. For a tenant, the storage limit applies instead.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Name of the user or token that set the quota.")
    warnings: list[str] = Field(default=[], description="Warnings about a quota that was just set.")


class WorkQuotas(Resource):
    """Quotas by tenant: the tenant's own first, then those of its workspaces by name."""

    items: list[WorkQuota]


class SetTenantQuotaRequest(Request):
    """A tenant's quota. It replaces the previous one; a quota without limits is deleted."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="Name of the tenant. Default: the caller's tenant."
    )
    max_experiments: Experiments | None = None
    requests_per_s: RequestsPerSecond | None = None


class SetWorkspaceQuotaRequest(Request):
    """A workspace's quota. It replaces the previous one; a quota without limits is deleted."""

    workspace: Name
    max_experiments: Experiments | None = None
    requests_per_s: RequestsPerSecond | None = None
    max_stored_bytes: StoredBytes | None = None

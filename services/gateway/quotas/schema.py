"""What a tenant and its workspaces may do at once, and what a workspace may store, as users see it."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from services.gateway.platform.schema import Name, Request, Resource

Experiments = Annotated[int, Field(ge=0, le=1_000_000)]
RequestsPerSecond = Annotated[float, Field(ge=0.1, le=1_000_000)]
StoredBytes = Annotated[int, Field(ge=0, le=2**62)]


class WorkQuota(Resource):
    """How many experiments may be open at once, how many requests a second may be sent, and of a workspace how many bytes may be stored; null bounds nothing."""

    tenant: str
    workspace: str | None = Field(default=None, description="None: the tenant as a whole.")
    max_experiments: int | None = Field(
        default=None, description="Open at once: submitted and not over, running or not."
    )
    requests_per_s: float | None = Field(
        default=None,
        description="Of a workspace: by those whose roles are all in it. Twice as many may come at once.",
    )
    max_stored_bytes: int | None = Field(
        default=None,
        description="Of a workspace: what its checkpoints and media may take, each content once. A tenant's is its storage limit.",
    )
    changed_at: datetime | None = None
    by: str | None = Field(default=None, description="Who set it.")
    warnings: list[str] = Field(default=[], description="What is worth saying of it, where it was just set.")


class WorkQuotas(Resource):
    """By tenant: its own first, then those of its workspaces by name."""

    items: list[WorkQuota]


class SetTenantQuotaRequest(Request):
    """A tenant's whole quota, in place of the one before; without anything it is taken away."""

    tenant: Annotated[str | None, Field(min_length=1, max_length=200)] = Field(
        default=None, description="By its name; by default the caller's own."
    )
    max_experiments: Experiments | None = None
    requests_per_s: RequestsPerSecond | None = None


class SetWorkspaceQuotaRequest(Request):
    """A workspace's whole quota, in place of the one before; without anything it is taken away."""

    workspace: Name
    max_experiments: Experiments | None = None
    requests_per_s: RequestsPerSecond | None = None
    max_stored_bytes: StoredBytes | None = None

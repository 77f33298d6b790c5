"""Limits: what a tenant, or a workspace of one, may have. Written by the gateway, enforced by one owner each."""

from uuid import UUID

from shared.ids import PoolName, TenantId
from shared.messages.base import Event


class LimitsChanged(Event, entity="limits", happened="changed", key="limit_id"):
    """gateway → scheduler, for the site: slots of one pool. Without a workspace the tenant as a whole is meant.

    `guaranteed` comes back on demand in pools with preemption; beyond it is borrowed, up to `maximum` (None: whatever is free).
    """

    limit_id: UUID
    version: int
    tenant: TenantId
    workspace: str | None = None
    pool: PoolName
    guaranteed: int = 0
    maximum: int | None = None
    weight: float = 1.0


class WorkspaceStorageLimitChanged(
    Event,
    entity="limits",
    happened="workspace_storage_changed",
    key="limit_id",
    line="workspace_storage_limit",
):
    """gateway → registry, in the tenant's own name: how many bytes one of its workspaces may store (None: as many as the tenant).

    Kept apart from the tenant's: who does not know of workspaces would take it for that.
    """

    limit_id: UUID
    version: int
    workspace: str
    maximum_bytes: int | None = None


class StorageLimitChanged(
    Event, entity="limits", happened="storage_changed", key="limit_id", line="storage_limit"
):
    """gateway → registry, in the tenant's own name: how many bytes it may store (None: as many as there is room for)."""

    limit_id: UUID
    version: int
    maximum_bytes: int | None = None

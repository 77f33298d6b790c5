"""Limits of tenants and workspaces. The gateway writes them; one service enforces each."""

from uuid import UUID

from shared.ids import PoolName, TenantId
from shared.messages.base import Event


class LimitsChanged(Event, entity="limits", happened="changed", key="limit_id"):
    """gateway → scheduler, for the site: limits on slots of one pool, of a workspace, or of the tenant if `workspace` is None.

    In pools with preemption, `guaranteed` slots are reclaimed on demand. Slots beyond that are borrowed, up to `maximum` (None: no limit).
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
    """gateway → registry, in the tenant's name: how many bytes a workspace may store (None: only the tenant's limit applies).

    A separate event type, because a consumer that does not know workspaces would mistake it for the tenant's limit.
    """

    limit_id: UUID
    version: int
    workspace: str
    maximum_bytes: int | None = None


class StorageLimitChanged(
    Event, entity="limits", happened="storage_changed", key="limit_id", line="storage_limit"
):
    """gateway → registry, in the tenant's name: how many bytes the tenant may store (None: no limit)."""

    limit_id: UUID
    version: int
    maximum_bytes: int | None = None

"""Handlers of storage limits: of tenants, set by operators, and of workspaces, set by their tenant."""

from services.registry.storage.store import tenants as storage, workspaces
from shared.bus import Delivery, Unit
from shared.messages.limits import StorageLimitChanged, WorkspaceStorageLimitChanged


async def on_storage_limit(unit: Unit, batch: list[Delivery[StorageLimitChanged]]) -> None:
    """Store the newest limit. Data that exceeds it is kept."""
    newest = max(batch, key=lambda delivery: delivery.message.version)
    message = newest.message
    await storage.save_maximum(
        unit.connection, newest.envelope.tenant, message.maximum_bytes, message.version
    )


async def on_workspace_storage_limit(unit: Unit, batch: list[Delivery[WorkspaceStorageLimitChanged]]) -> None:
    """Store the newest limits of workspaces."""
    by_version = sorted(batch, key=lambda delivery: (delivery.message.workspace, delivery.message.version))
    for delivery in by_version:
        message = delivery.message
        await workspaces.save_maximum(
            unit.connection,
            delivery.envelope.tenant,
            message.workspace,
            message.maximum_bytes,
            message.version,
        )

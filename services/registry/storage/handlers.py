"""What a tenant may store, as who keeps the site has said, and what its workspaces may, as itself has."""

from services.registry.storage.store import tenants as storage, workspaces
from shared.bus import Delivery, Unit
from shared.messages.limits import StorageLimitChanged, WorkspaceStorageLimitChanged


async def on_storage_limit(unit: Unit, batch: list[Delivery[StorageLimitChanged]]) -> None:
    """Keep the newest word; what is stored already stays, whatever it says."""
    newest = max(batch, key=lambda delivery: delivery.message.version)
    message = newest.message
    await storage.save_maximum(
        unit.connection, newest.envelope.tenant, message.maximum_bytes, message.version
    )


async def on_workspace_storage_limit(unit: Unit, batch: list[Delivery[WorkspaceStorageLimitChanged]]) -> None:
    """The same of workspaces."""
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

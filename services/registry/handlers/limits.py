"""What a tenant may store, as who keeps the site has said."""

from services.registry.store import storage
from shared.bus import Delivery, Unit
from shared.messages.limits import StorageLimitChanged


async def on_storage_limit(unit: Unit, batch: list[Delivery[StorageLimitChanged]]) -> None:
    """Keep the newest word; what is stored already stays, whatever it says."""
    newest = max(batch, key=lambda delivery: delivery.message.version)
    message = newest.message
    await storage.save_maximum(
        unit.connection, newest.envelope.tenant, message.maximum_bytes, message.version
    )

"""Deletes expired media packs, and packs that were never committed. `packs` receives them."""

from dataclasses import dataclass
from datetime import timedelta

from services.registry.media import store as media
from services.registry.storage.links import media_key
from services.registry.storage.store import tenants as storage, workspaces
from shared.bus import Units
from shared.clock import Clock
from shared.objects import ObjectStore

SENT_WITHIN = timedelta(hours=24)
"""A pack is committed within this time, or sent again as another."""
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class MediaRetention:
    """Background loop for media; replicas may run it concurrently.

    Attributes:
        keep_days: Age at which media are deleted, whatever experiments set; None keeps them.
    """

    units: Units
    objects: ObjectStore
    clock: Clock
    keep_days: int | None

    async def retain(self) -> None:
        """Delete packs older than the metric retention of experiment, rules or site, and packs that were never committed."""
        while True:
            now = self.clock.now()
            async with self.units.system() as unit:
                going = await media.mark_deleting(
                    unit.connection, now.date(), self.keep_days, now - SENT_WITHIN, AT_ONCE
                )
            await self.objects.delete_many([media_key(one.tenant, one.trial, one.id) for one in going])
            async with self.units.system() as unit:
                freed = await media.remove_deleted(unit.connection, [one.id for one in going])
                for (tenant, workspace), freed_bytes in freed.items():
                    await storage.add_used(unit.connection, tenant, -freed_bytes)
                    if workspace is not None:
                        await workspaces.add_used(unit.connection, tenant, workspace, -freed_bytes)
            if len(going) < AT_ONCE:
                return

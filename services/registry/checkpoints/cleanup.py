"""Background loops for checkpoints: collect, and delete objects. See also `settling`.

Each is idempotent and guarded, so replicas may run them concurrently. No object is accessed within a transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from services.registry.checkpoints import events
from services.registry.checkpoints.retention import Retention
from services.registry.checkpoints.store import checkpoints, collection
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.code import store as artifacts
from services.registry.core.checkpoint import CheckpointTrigger
from services.registry.storage.links import INCOMING, kept_prefix, upload_prefix
from services.registry.storage.store import late_uploads, objects, tenants as storage, workspaces
from shared.bus import Unit, Units
from shared.clock import Clock
from shared.ids import TenantId
from shared.objects import ObjectStore
from shared.runtime import faults

BEFORE_DELETE = faults.register("registry.before_delete")
BEFORE_DELETED = faults.register("registry.before_deleted")
AT_ONCE = 500
INCOMING_FOR = timedelta(hours=24)
"""An upload is committed within this time, or sent again."""
SWEEP_EVERY = timedelta(hours=1)
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CheckpointCleanup:
    """Maintenance loops of the registry.

    Attributes:
        collect_after: How long an experiment's checkpoints are kept after its end before they are collected.
        unused_for: How long an object is kept after its last reference.
        is_dry: Only log what collection would delete.
    """

    units: Units
    retention: Retention
    objects: ObjectStore
    clock: Clock
    collect_after: timedelta
    unused_for: timedelta
    is_dry: bool

    async def collect(self) -> None:
        """Decide which checkpoints of ended experiments are deleted, and record the intent."""
        async with self.units.system() as unit:
            due = await collection.load_due(unit.connection, self.clock.now() - self.collect_after, AT_ONCE)
        for one in due:
            found = await self.retention.collect(one, dry_run=self.is_dry)
            if found.going:
                event = "collection would delete" if self.is_dry else "checkpoints were collected"
                count = len(found.going)
                _log.info(
                    event, experiment=str(one.experiment), checkpoints=count, freed_bytes=found.freed_bytes
                )
            if self.is_dry:
                async with self.units.tenant(TenantId(one.tenant)) as unit:
                    await collection.save_collected(unit.connection, one.experiment, unit.now)

    async def delete(self) -> None:
        """Delete the objects of checkpoints marked for deletion, then mark these as deleted. Idempotent."""
        while True:
            async with self.units.system() as unit:
                due = await checkpoints.load_deleting(unit.connection, AT_ONCE)
            faults.point(BEFORE_DELETE)
            for one in due:
                if not one.is_fully_recorded:
                    await delete_below(self.objects, upload_prefix(one.tenant, one.id))
                    await self._delete_copies(one)
            faults.point(BEFORE_DELETED)
            for tenant in sorted({one.tenant for one in due}):
                deleted = [one.id for one in due if one.tenant == tenant]
                async with self.units.tenant(TenantId(tenant)) as unit:
                    await _mark_deleted(unit, deleted)
            if len(due) < AT_ONCE:
                return

    async def drop_unused(self) -> None:
        """Delete objects that have been unreferenced for a while. This is checked again under their row locks."""
        while True:
            async with self.units.system() as unit:
                before = self.clock.now() - self.unused_for
                due = await objects.load_unused(unit.connection, before, AT_ONCE)
            for tenant in sorted({one.tenant for one in due}):
                await self.drop(TenantId(tenant), [one.key for one in due if one.tenant == tenant])
            if len(due) < AT_ONCE:
                return

    async def drop(self, tenant: TenantId, keys: Sequence[str]) -> None:
        """Delete those of a tenant's objects that nothing references."""
        async with self.units.tenant(tenant) as unit:
            going = await objects.mark_deleting(unit.connection, keys)
        await self.objects.delete_many(going)
        async with self.units.tenant(tenant) as unit:
            freed_bytes = await objects.remove_deleted(unit.connection, going)
            await storage.add_used(unit.connection, tenant, -freed_bytes)

    async def sweep(self) -> None:
        """Delete leftovers of presigned uploads, and record objects that were stored unrecorded."""
        async with self.units.system() as unit:
            for tenant, more_bytes in (await objects.adopt_unknown(unit.connection)).items():
                await storage.add_used(unit.connection, tenant, more_bytes)
        await sweep_incoming(self.objects, self.clock.now())
        await self._drop_code()
        await self._delete_late_uploads()
        while True:
            async with self.units.system() as unit:
                before = self.clock.now() - INCOMING_FOR
                left = await checkpoints.load_left(unit.connection, before, AT_ONCE)
            for one in left:
                await self._delete_copies(one)
                async with self.units.tenant(TenantId(one.tenant)) as unit:
                    await checkpoints.save_fully_recorded(unit.connection, one.id)
            if len(left) < AT_ONCE:
                return

    async def _drop_code(self) -> None:
        """Delete code archives that no experiment uses in two consecutive sweeps, and archives that were uploaded to their final key and never confirmed."""
        now = self.clock.now()
        unused_since = now - 3 * SWEEP_EVERY, now - SWEEP_EVERY / 2
        async with self.units.system() as unit:
            going = await artifacts.mark_unused_deleting(
                unit.connection, now - INCOMING_FOR, unused_since, now
            )
            going += await artifacts.mark_uploads_deleting(unit.connection, now - INCOMING_FOR, now)
        await self.objects.delete_many(going)
        async with self.units.system() as unit:
            await artifacts.remove_uploads(unit.connection, going)

    async def _delete_late_uploads(self) -> None:
        """Delete what was uploaded below deleted prefixes with URLs that were still valid."""
        async with self.units.system() as unit:
            due = await late_uploads.load_due_prefixes(unit.connection, self.clock.now())
        for prefix in due:
            found = [one.key async for one in self.objects.list(prefix)]
            async with self.units.system() as unit:
                shared = await objects.load_shared(unit.connection, found)
            await self.objects.delete_many([key for key in found if key not in shared])
        async with self.units.system() as unit:
            await late_uploads.save_swept(unit.connection, due)

    async def _delete_copies(self, checkpoint: CheckpointRow) -> None:
        """Delete a checkpoint's unshared copies; shared objects are kept until nothing references them."""
        copies = [one.key async for one in self.objects.list(kept_prefix(checkpoint.tenant, checkpoint.id))]
        async with self.units.tenant(TenantId(checkpoint.tenant)) as unit:
            shared = await objects.load_shared(unit.connection, copies)
        await self.objects.delete_many([key for key in copies if key not in shared])


async def sweep_incoming(objects: ObjectStore, now: datetime) -> None:
    """Delete old uploads that were never committed, or repeated after the commit."""
    await delete_below(objects, INCOMING, now - INCOMING_FOR)


async def delete_below(objects: ObjectStore, prefix: str, before: datetime | None = None) -> None:
    """Delete all objects below a prefix, or those older than `before`."""
    found = [one async for one in objects.list(prefix) if before is None or one.modified < before]
    await objects.delete_many([one.key for one in found])


async def _mark_deleted(unit: Unit, ids: list[UUID]) -> None:
    locked = await checkpoints.lock_many(unit.connection, ids)
    deleted = await checkpoints.move_many(
        unit.connection, locked, CheckpointTrigger.objects_deleted, unit.now, None
    )
    await workspaces.release(unit.connection, [one.id for one in deleted])
    await objects.save_released(unit.connection, [one.id for one in deleted], unit.now)
    unit.emit(*(events.checkpoint_event(one, settles=False) for one in deleted))

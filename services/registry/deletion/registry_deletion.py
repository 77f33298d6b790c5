"""The registry's part of deletions. It alone may reject one, if something is registered or in use. See also `shared.bus.data_deletion` and `upkeep`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from services.registry.checkpoints.cleanup import CheckpointCleanup, delete_below
from services.registry.checkpoints.events import checkpoint_event
from services.registry.checkpoints.store import checkpoints
from services.registry.core.checkpoint import OPEN, CheckpointTrigger
from services.registry.deletion import store as deleting
from services.registry.deletion.store import Registered
from services.registry.exports.queries import prefix_of
from services.registry.logs.packer import LogPacker
from services.registry.media.retention import MediaRetention
from services.registry.models import store as models
from services.registry.models.events import model_event, version_event
from services.registry.storage.links import INCOMING, kept_prefix
from services.registry.storage.store import late_uploads
from shared.bus import Unit, Units
from shared.bus.data_deletion import DeleteStatement, DeletionRequest
from shared.errors import Broken, Conflict, Transient
from shared.ids import TenantId
from shared.objects import ObjectStore

REASON = "its experiment was deleted"
NAMED = 5


@dataclass(frozen=True, slots=True)
class RegistryDeletion:
    """Deletes what the registry stores of an experiment, a workspace or a tenant."""

    units: Units
    objects: ObjectStore
    upkeep: CheckpointCleanup
    media: MediaRetention
    log_packer: LogPacker
    link_life: timedelta
    """Lifetime of presigned URLs: uploads with earlier URLs are deleted after this time."""

    async def begin(self, unit: Unit, request: DeletionRequest) -> bool:
        """Check whether the deletion may proceed. Registered versions are deleted if the deletion is forced.

        Raises:
            Conflict: Versions are registered and the deletion is not forced, or an open trial of another experiment starts from it.
        """
        if request.scope != "experiment":
            return True
        number = await deleting.lock_experiment(unit.connection, request.target)
        users = await deleting.load_users(unit.connection, request.target)
        if users:
            numbers = ", ".join(map(str, users[:NAMED]))
            raise Conflict(
                "experiment_in_use",
                f"open trials of experiment {numbers} start from checkpoints of experiment {number}",
                hint="wait until these trials end, or kill them",
            )
        registered = await deleting.load_registered(unit.connection, request.target)
        if registered and not request.is_forced:
            raise Conflict(
                "experiment_registered",
                f"experiment {number} has registered versions: {_named(registered)}",
                hint="delete these versions first, or delete the experiment with `force`",
            )
        for one in registered:
            await _unregister(unit, request, one)
        return True

    async def empty(self, request: DeletionRequest) -> None:
        """Delete objects before the rows that record their keys."""
        if request.scope == "experiment":
            await self._empty_experiment(request)
        elif request.scope == "tenant":
            kept = f"tenants/{request.target}/"
            await self._schedule_cleanup([kept])
            for prefix in (kept, f"{INCOMING}{request.target}/", prefix_of(request.affected_tenant)):
                await delete_below(self.objects, prefix)

    def rows(self, request: DeletionRequest) -> Sequence[DeleteStatement]:
        """Return the statements of `deletion.store`."""
        if request.scope == "experiment":
            return deleting.experiment_rows(request.target)
        if request.workspace is not None:
            return deleting.workspace_rows(request.tenant, request.workspace)
        return deleting.tenant_rows(request.target)

    async def _empty_experiment(self, request: DeletionRequest) -> None:
        while await self._let_go(request):
            pass
        await self.upkeep.delete()
        while keys := await self._released(request):
            await self.upkeep.drop(request.affected_tenant, keys)
        if await self._has_packs(request):
            await self.media.retain()
            await self.log_packer.drop()
            if await self._has_packs(request):
                raise Transient("objects of the deleted entity still exist", 2.0)

    async def _let_go(self, request: DeletionRequest) -> bool:
        """Abandon unsaved checkpoints, which the scheduler waits for, and mark all checkpoints for deletion."""
        async with self.units.tenant(request.affected_tenant) as unit:
            left = await deleting.load_left(unit.connection, request.target)
            found = await checkpoints.lock_many(unit.connection, left)
            unsaved = [one for one in found if one.state in OPEN]
            given_up = await checkpoints.move_many(
                unit.connection, unsaved, CheckpointTrigger.fenced, unit.now, REASON
            )
            unit.emit(*map(checkpoint_event, given_up))
            ended = [one for one in found if one.state not in OPEN] + given_up
            await checkpoints.move_many(unit.connection, ended, CheckpointTrigger.collected, unit.now, REASON)
        await self._schedule_cleanup([kept_prefix(one.tenant, one.id) for one in given_up])
        return bool(left)

    async def _schedule_cleanup(self, prefixes: Sequence[str]) -> None:
        async with self.units.system() as unit:
            await late_uploads.save_prefix_cleanups(unit.connection, prefixes, unit.now + self.link_life)

    async def _released(self, request: DeletionRequest) -> list[str]:
        async with self.units.tenant(request.affected_tenant) as unit:
            return await deleting.load_released(unit.connection, request.target)

    async def _has_packs(self, request: DeletionRequest) -> bool:
        async with self.units.tenant(request.affected_tenant) as unit:
            return await deleting.mark_packs_deleting(unit.connection, request.target)


async def _unregister(unit: Unit, request: DeletionRequest, registered: Registered) -> None:
    """Delete a registered version at the user's request, whatever its stage and aliases."""
    model = await models.lock_model(unit.connection, registered.model)
    version = await models.find_version(unit.connection, id=registered.id)
    if model is None or version is None:
        return
    checkpoint = await checkpoints.load_checkpoint(unit.connection, version.checkpoint)
    if checkpoint is None:
        raise Broken(f"version {version.id} has no checkpoint")
    aliases = {alias: number for alias, number in model.aliases.items() if number != version.number}
    changed = await models.save_model(unit.connection, model, aliases=aliases, changed_by=request.by)
    deleted = await models.save_version(
        unit.connection, version, deleted_at=unit.now, deleted_reason=REASON, changed_by=request.by
    )
    unit.emit(
        version_event(deleted, changed, checkpoint),
        model_event(changed),
        tenant=TenantId(model.tenant),
    )


def _named(registered: Sequence[Registered]) -> str:
    names = [f"version {one.number} of model '{one.name}'" for one in registered[:NAMED]]
    more = len(registered) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")

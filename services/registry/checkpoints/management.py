"""User operations on checkpoints: edit metadata, verify, delete and collect.

Each request is one transaction or fails with the reason, and is idempotent (decision 0109).
"""

import asyncio
from dataclasses import asdict, replace

from services.registry.checkpoints.core.collect import RetentionVerdict
from services.registry.checkpoints.queries import load_view
from services.registry.checkpoints.retention import Retention, mark_deleting
from services.registry.checkpoints.store import checkpoints, collection
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.core.checkpoint import PUBLIC, CheckpointStatus
from services.registry.core.metadata import merge_metadata, refuse_metadata
from services.registry.storage.store import objects, tenants as storage, workspaces
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, NotFound, Rejected
from shared.ids import CheckpointId, TrialId
from shared.messages.checkpoints import (
    CheckpointRetention,
    CheckpointView,
    CollectCheckpoints,
    Collected,
    CollectedCheckpoint,
    DeleteCheckpoint,
    EditCheckpoint,
    GetStorage,
    StorageUse,
    VerificationRequested,
    VerifyCheckpoints,
    WorkspaceUse,
)

COUNTS = {"save_experiment_best", "save_trial_best", "save_trial_latest"}
MAX_LISTED = 200
"""Maximum number of deleted checkpoints listed in an answer; all are counted."""
_HELD = {
    RetentionVerdict.registered: (
        "checkpoint_registered",
        "a model version refers to it",
        "delete the version first",
    ),
    RetentionVerdict.pinned: (
        "checkpoint_in_use",
        "a trial that has not ended resumes from it",
        "wait until the trial ends or saves its next checkpoint",
    ),
}


class CheckpointManagement:
    """Answers `qry.v1.registry.edit_checkpoint`, `.verify_checkpoints`, `.delete_checkpoint`, `.collect_checkpoints`, `.storage`."""

    def __init__(self, units: Units, retention: Retention, asked: asyncio.Event) -> None:
        """Set up. `asked` is set when a verification was requested."""
        self._units = units
        self._asked = asked
        self._retention = retention

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {
            EditCheckpoint: self.on_edit,
            VerifyCheckpoints: self.on_verify,
            DeleteCheckpoint: self.on_delete,
            CollectCheckpoints: self.on_collect,
            GetStorage: self.on_storage,
        }

    async def on_edit(self, ask: RequestContext, query: EditCheckpoint) -> CheckpointView:
        """Merge metadata by its top-level keys."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await _locked(unit, query.checkpoint_id)
            merged = merge_metadata(found.metadata, query.metadata)
            if refusal := refuse_metadata(merged):
                raise Rejected(refusal.code, refusal.reason, place="metadata")
            await checkpoints.save_metadata(unit.connection, found.id, merged)
            return await load_view(unit, found.id)

    async def on_verify(self, ask: RequestContext, query: VerifyCheckpoints) -> VerificationRequested:
        """Queue files for verification before all others. The result is `verified_at`, or state `corrupt` with its event."""
        async with self._units.tenant(ask.tenant) as unit:
            if query.is_waiting and query.experiment_id is not None:
                files, size_bytes = await objects.load_waiting(unit.connection, query.experiment_id)
                return VerificationRequested(checkpoints=0, files=files, size_bytes=size_bytes)
            if query.checkpoint_id is not None:
                found = await _locked(unit, query.checkpoint_id)
                _refuse_unsaved(found)
                wanted = [found.id]
            elif query.experiment_id is not None:
                wanted = await collection.load_saved(unit.connection, query.experiment_id)
            else:
                raise Rejected("bad_request", "set checkpoint_id or experiment_id")
            files, size_bytes = await objects.ask_to_verify(unit.connection, wanted, unit.now)
        self._asked.set()
        return VerificationRequested(checkpoints=len(wanted), files=files, size_bytes=size_bytes)

    async def on_delete(self, ask: RequestContext, query: DeleteCheckpoint) -> CheckpointView:
        """Delete a checkpoint on a user's request. Rejected if it is registered, in use, or being uploaded."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await _locked(unit, query.checkpoint_id)
        if found.state in (
            CheckpointStatus.announced,
            CheckpointStatus.uploading,
            CheckpointStatus.committing,
        ):
            raise Conflict(
                "checkpoint_uploading",
                f"checkpoint {found.id} is being uploaded",
                hint="wait until it is saved",
            )
        if found.state not in (CheckpointStatus.deleting, CheckpointStatus.deleted):
            # Only saved checkpoints can be in use.
            held = (
                await self._retention.why_kept(ask.tenant, found.id)
                if found.state is CheckpointStatus.saved
                else None
            )
            if held is None:
                async with self._units.tenant(ask.tenant) as unit:
                    is_deleting = await mark_deleting(unit, [found.id], "deleted by a user")
                held = None if is_deleting else await self._retention.why_kept(ask.tenant, found.id)
            if held is not None:
                code, why, hint = _HELD[held]
                raise Conflict(code, f"checkpoint {found.id} cannot be deleted: {why}", hint=hint)
        async with self._units.tenant(ask.tenant) as unit:
            return await load_view(unit, found.id)

    async def on_collect(self, ask: RequestContext, query: CollectCheckpoints) -> Collected:
        """Delete what an experiment's retention rule does not keep, and return what and how much; a dry run deletes nothing."""
        given = query.model_dump(include=COUNTS, exclude_none=True)
        async with self._units.tenant(ask.tenant) as unit:
            due = await collection.load_experiment(unit.connection, query.experiment_id)
            if due is None:
                raise NotFound(f"experiment {query.experiment_id}")
            due = replace(due, policy=replace(due.policy, **given))
            if given and not query.dry_run:
                await collection.save_policy(unit.connection, due.experiment, due.policy)
        found = await self._retention.collect(due, dry_run=query.dry_run)
        async with self._units.tenant(ask.tenant) as unit:
            going = await collection.load_sizes(unit.connection, found.going)
        return Collected(
            policy=CheckpointRetention(**asdict(due.policy)),
            dry_run=query.dry_run,
            count=len(going),
            size_bytes=sum(one.size_bytes for one in going),
            freed_bytes=found.freed_bytes,
            checkpoints=tuple(
                CollectedCheckpoint(
                    checkpoint_id=CheckpointId(one.id),
                    trial_id=TrialId(one.trial),
                    step=one.step,
                    size_bytes=one.size_bytes,
                )
                for one in going[:MAX_LISTED]
            ),
            kept=found.kept,
        )

    async def on_storage(self, ask: RequestContext, query: GetStorage) -> StorageUse:
        """Return what the tenant and its workspaces store, and their limits."""
        async with self._units.tenant(ask.tenant) as unit:
            stored = await storage.load_stored(unit.connection, ask.tenant)
            found = await workspaces.load_all(unit.connection)
        of_workspaces = tuple(WorkspaceUse(workspace=one.workspace, **asdict(one.stored)) for one in found)
        return StorageUse(**asdict(stored), workspaces=of_workspaces)


async def _locked(unit: Unit, checkpoint: CheckpointId) -> CheckpointRow:
    found = await checkpoints.load_checkpoint(unit.connection, checkpoint, lock=True)
    if found is None:
        raise NotFound(f"checkpoint {checkpoint}")
    return found


def _refuse_unsaved(found: CheckpointRow) -> None:
    if found.state is not CheckpointStatus.saved:
        raise Conflict("checkpoint_not_saved", f"checkpoint {found.id} is {PUBLIC[found.state]}")

"""Commits uploaded checkpoints, each atomically. `announcements` signs the upload URLs."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from services.registry import metrics
from services.registry.checkpoints import abandoning, events
from services.registry.checkpoints.core.shards import has_shard
from services.registry.checkpoints.store import checkpoints
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.verifier import VerifiedUpload, Verifier
from services.registry.core.checkpoint import PUBLIC, CheckpointStatus, CheckpointTrigger
from services.registry.core.metadata import refuse_metadata
from services.registry.core.report_cursors import FIRST_RECORD, has_reached
from services.registry.ingest.store import load_next
from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.runs.store.trials import StoredRun
from services.registry.storage.links import is_awaited
from services.registry.storage.quota import refuse_contents
from services.registry.storage.store import files as manifests, objects, tenants as storage, workspaces
from services.registry.storage.store.files import File
from services.registry.storage.store.objects import content_of
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound, Rejected, Transient
from shared.ids import RunId, TenantId
from shared.messages.checkpoints import CommitCheckpoint, CommitMany, Committed, CommittedMany
from shared.messages.runs import AllocationFacts
from shared.runtime import faults

AFTER_VERIFY = faults.register("registry.after_verify")
ATTEMPTS = 3
"""Failed verifications after which a checkpoint is corrupt."""
VERIFY_WAIT_S = 3.0
MARK_RETRY_S = 0.1
PARTS_RETRY_S = 0.5
PARTS_WITHIN = timedelta(minutes=5)
"""Time limit for the remaining workers of a running gang to commit their files. A worker that left the gang never does, and later
checkpoints wait for it. `settling` decides about ended runs.
"""
NO_PART = "the worker of rank 0 lists no files of this checkpoint on this worker"
STALE = "a later run of the trial was granted, or this run was lost or forcibly ended"


class Commits:
    """Answers `wrq.v1.<worker>.commit` and `commit_many`."""

    def __init__(self, units: Units, facts: Facts, verifier: Verifier) -> None:
        self._units = units
        self._facts = facts
        self._verifier = verifier

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {CommitCheckpoint: self.on_commit, CommitMany: self.on_commit_many}

    async def on_commit(self, ask: RequestContext, query: CommitCheckpoint) -> Committed:
        """Commit the manifest once earlier reports are stored and every object matches; else return what is missing."""
        (answer,) = await self._answer(ask, query.run_id, (query,))
        return answer

    async def on_commit_many(self, ask: RequestContext, query: CommitMany) -> CommittedMany:
        """Commit several checkpoints of one run, with one transaction before their objects are verified and one after."""
        if any(one.run_id != query.run_id for one in query.commits):
            raise Rejected("runs_differ", "checkpoints committed in one request must belong to one run")
        return CommittedMany(answers=tuple(await self._answer(ask, query.run_id, query.commits)))

    async def _answer(
        self, ask: RequestContext, run_id: RunId, queries: Sequence[CommitCheckpoint]
    ) -> list[Committed]:
        for query in queries:
            if refusal := refuse_metadata(query.metadata):
                raise Rejected(refusal.code, refusal.reason, place="metadata")
        facts = await self._facts.of(run_id, ask.worker)
        tenant = TenantId(facts.tenant)
        async with self._units.tenant(tenant) as unit:
            run, _ = await fences.locked_run(unit, facts)
            started = [await self._begin_commit(unit, facts, run, ask, query) for query in queries]
            ready = [one for one in started if isinstance(one, CheckpointRow)]
            files = await manifests.load_files(unit.connection, [one.id for one in ready])
        verified = await asyncio.gather(*(self._verify(one, files[one.id]) for one in ready))
        taken = {
            one.id: found
            for one, found in zip(ready, verified, strict=True)
            if isinstance(found, VerifiedUpload)
        }
        answers = {
            one.id: found for one, found in zip(ready, verified, strict=True) if isinstance(found, Committed)
        }
        if taken:
            faults.point(AFTER_VERIFY)
            async with self._units.tenant(tenant) as unit:
                run, _ = await fences.locked_run(unit, facts)
                for one in ready:
                    if one.id in taken:
                        answers[one.id] = await self._end_commit(unit, run, one, taken[one.id])
                kept = await manifests.load_files(unit.connection, list(taken))
            for one in ready:
                if one.id in taken:
                    brought = (*_awaited(one, files[one.id]), *taken[one.id].files)
                    self._verifier.drop_upload(brought, {file.key for file in kept[one.id]})
        return [answers[one.id] if isinstance(one, CheckpointRow) else one for one in started]

    async def _verify(self, checkpoint: CheckpointRow, files: Sequence[File]) -> VerifiedUpload | Committed:
        """Return what was uploaded; or the answer, if verification takes longer or the store is unavailable."""
        try:
            return await self._verifier.take(checkpoint, files, VERIFY_WAIT_S)
        except Transient as error:
            return Committed(state="uploading", retry_after_s=error.retry_after_s, reason=error.message)

    async def _begin_commit(
        self, unit: Unit, facts: AllocationFacts, run: StoredRun, ask: RequestContext, query: CommitCheckpoint
    ) -> CheckpointRow | Committed:
        """Return the checkpoint, ready to be verified; or the answer if it needs no verification."""
        checkpoint = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id, lock=True)
        if checkpoint is None or checkpoint.run != facts.run_id:
            raise NotFound(
                f"checkpoint {query.checkpoint_id} of run {query.run_id}",
                hint="announce the checkpoint first",
            )
        if checkpoint.state not in (CheckpointStatus.uploading, CheckpointStatus.committing):
            return _committed(checkpoint)
        if not has_shard(checkpoint.shard_workers, ask.worker):
            return Committed(state="abandoned", reason=NO_PART)
        if run.fence.is_stale:
            return _committed(await abandoning.abandon(unit, checkpoint, CheckpointTrigger.fenced, STALE))
        if not has_reached(await _next_report(unit, facts, ask), query.after_report):
            return Committed(
                state="uploading",
                retry_after_s=MARK_RETRY_S,
                reason="reports that precede the checkpoint are not stored yet",
            )
        sent = await manifests.count_files(unit.connection, checkpoint.id, ask.worker)
        if query.files not in (None, sent):
            return Committed(
                state="uploading",
                reason=f"{sent} of the checkpoint's {query.files} files were announced; announce it again",
            )
        missing = sorted(set(checkpoint.pending_workers) - {ask.worker})
        metadata = {**checkpoint.metadata, **query.metadata}
        is_taken_anew = not missing and not self._verifier.is_taking(checkpoint)
        await checkpoints.save_part(unit.connection, checkpoint.id, missing, metadata, is_taken_anew)
        if missing and run.fence.ending is None and unit.now - checkpoint.changed_at > PARTS_WITHIN:
            reason = f"{', '.join(missing)} did not commit their files within {PARTS_WITHIN}"
            return _committed(
                await abandoning.abandon(unit, checkpoint, CheckpointTrigger.upload_timed_out, reason)
            )
        if missing:
            return Committed(
                state="uploading",
                retry_after_s=PARTS_RETRY_S,
                reason=f"waiting for uploads of {', '.join(missing)}",
            )
        return await checkpoints.move_checkpoint(
            unit.connection, checkpoint, CheckpointTrigger.commit_asked, unit.now
        )

    async def _end_commit(
        self, unit: Unit, run: StoredRun, started: CheckpointRow, taken: VerifiedUpload
    ) -> Committed:
        """Decide under the locks: fence and manifest may have changed during verification."""
        checkpoint = await checkpoints.load_checkpoint(unit.connection, started.id, lock=True)
        if checkpoint is None:
            raise NotFound(f"checkpoint {started.id}")
        if checkpoint.state is not CheckpointStatus.committing:
            return _committed(checkpoint)
        if run.fence.is_stale:
            return _committed(await abandoning.abandon(unit, checkpoint, CheckpointTrigger.fenced, STALE))
        if checkpoint.version != started.version:
            return Committed(
                state="uploading", retry_after_s=PARTS_RETRY_S, reason="the manifest was replaced meanwhile"
            )
        if taken.lost:
            await objects.save_damaged(unit.connection, taken.lost)
        if taken.mismatch is not None:
            return await _refuse(unit, checkpoint, taken.mismatch)
        files = (await manifests.load_files(unit.connection, [checkpoint.id]))[checkpoint.id]
        contents = map(content_of, files)
        if full := await refuse_contents(
            unit, checkpoint.tenant, checkpoint.experiment, contents, is_final=True
        ):
            return _committed(await abandoning.abandon(unit, checkpoint, CheckpointTrigger.over_quota, full))
        return _committed(await _keep(unit, checkpoint, taken.files))


def is_of(checkpoint: CheckpointRow, file: File) -> bool:
    return is_awaited(checkpoint.tenant, checkpoint.id, file.key)


def _awaited(checkpoint: CheckpointRow, files: Sequence[File]) -> list[File]:
    return [file for file in files if is_of(checkpoint, file)]


async def _keep(unit: Unit, checkpoint: CheckpointRow, copies: Sequence[File]) -> CheckpointRow:
    """Save the checkpoint: its copies become the tenant's objects, except contents that were stored meanwhile by others."""
    kept, new_bytes = await objects.save_objects(unit.connection, checkpoint.tenant, copies, unit.now)
    await manifests.save_keys(unit.connection, checkpoint.id, kept)
    await storage.add_used(unit.connection, checkpoint.tenant, new_bytes)
    if (workspace := await workspaces.find_workspace(unit.connection, checkpoint.experiment)) is not None:
        await workspaces.hold(unit.connection, checkpoint.tenant, workspace, checkpoint.id)
    # Unused copies are deleted soon; if that fails, they are searched for when the checkpoint is deleted.
    is_fully_recorded = (checkpoint.upload_rounds, checkpoint.attempts) == (1, 0) and kept == list(copies)
    saved = await checkpoints.move_checkpoint(
        unit.connection,
        checkpoint,
        CheckpointTrigger.verified,
        unit.now,
        reason=None,
        is_fully_recorded=is_fully_recorded,
    )
    unit.emit(events.checkpoint_event(saved))
    return saved


async def _refuse(unit: Unit, checkpoint: CheckpointRow, mismatch: str) -> Committed:
    """Return to uploading, or mark as corrupt after too many failed attempts."""
    attempts = checkpoint.attempts + 1
    trigger = CheckpointTrigger.given_up if attempts >= ATTEMPTS else CheckpointTrigger.mismatched
    moved = await checkpoints.move_checkpoint(
        unit.connection, checkpoint, trigger, unit.now, reason=mismatch, attempts=attempts
    )
    if moved.state is CheckpointStatus.corrupt:
        unit.emit(events.checkpoint_event(moved))
        unit.after_commit(partial(metrics.count_corrupt, trigger))
    return _committed(moved)


async def _next_report(unit: Unit, facts: AllocationFacts, ask: RequestContext) -> int:
    return await load_next(unit.connection, facts.run_id, ask.worker, "reports") or FIRST_RECORD


def _committed(checkpoint: CheckpointRow) -> Committed:
    return Committed(state=PUBLIC[checkpoint.state], reason=checkpoint.reason)

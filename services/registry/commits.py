"""Checkpoints on their way in: announced with their files, sent to signed URLs, committed whole."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

from services.registry import events, fences
from services.registry.core.checkpoint import CHECKPOINT, State, Trigger
from services.registry.core.fencing import Effect, is_allowed
from services.registry.core.marks import FIRST_RECORD, has_reached
from services.registry.core.metadata import refuse_metadata
from services.registry.core.names import refuse_manifest
from services.registry.core.parts import awaited_by_chief, awaited_by_member, has_part
from services.registry.core.quota import refuse_growth
from services.registry.facts import Facts
from services.registry.links import Links, bound_key, is_awaited, upload_key
from services.registry.store import checkpoints, manifests, objects, storage
from services.registry.store.checkpoints import Checkpoint
from services.registry.store.manifests import File
from services.registry.store.objects import Content, content_of
from services.registry.store.reports import load_next
from services.registry.verifier import Taken, Verifier
from shared import faults
from shared.bus import Ask, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, NotFound, Rejected, Transient
from shared.ids import TenantId, WorkerId
from shared.messages.checkpoints import CommitCheckpoint, Committed, Upload, UploadLinks
from shared.messages.files import FileEntry
from shared.messages.runs import AllocationFacts
from shared.objects.binding import Binding

AFTER_VERIFY = faults.register("registry.after_verify")
ATTEMPTS = 3
"""So often an upload may not fit its manifest; then the checkpoint is corrupt."""
VERIFY_WAIT_S = 3.0
MARK_RETRY_S = 0.1
PARTS_RETRY_S = 0.5
PARTS_WITHIN = timedelta(minutes=5)
"""So long the parts of a checkpoint may be apart: a worker that is lost never sends its own, and later checkpoints wait behind."""
NO_PART = "rank 0's machine says that its gang has no files on this one"
STALE = "a later run of the trial was granted, or this one was given up"


class Commits:
    """Answers `wrq.v1.<worker>.upload` and `.commit`."""

    def __init__(
        self, units: Units, facts: Facts, links: Links, binding: Binding, verifier: Verifier
    ) -> None:
        self._units = units
        self._facts = facts
        self._links = links
        self._binding = binding
        self._verifier = verifier

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {Upload: self.on_upload, CommitCheckpoint: self.on_commit}

    async def on_upload(self, ask: Ask, query: Upload) -> UploadLinks:
        """Announce a checkpoint, and sign one PUT for each file that the tenant does not have yet; repeatable."""
        manifest = [(entry.path, entry.size_bytes, entry.sha256) for entry in query.files]
        if (refusal := refuse_manifest(manifest)) and not (query.parts and not query.files):
            raise Rejected(refusal.code, refusal.reason, place="files")
        facts = await self._facts.of(query.run_id, ask.worker)
        for worker in query.parts:
            facts = await self._facts.of(query.run_id, worker)
        is_bound = query.takes_headers and await self._binding.holds()
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, _ = await fences.locked_run(unit, facts)
            checkpoint = await _announced(unit, facts, query)
            if not is_allowed(run.fence, Effect.announce):
                await _give_up(unit, checkpoint, Trigger.fenced, STALE)
                return UploadLinks(files=(), state="abandoned", reason=STALE)
            if not CHECKPOINT.moves(checkpoint.state, Trigger.urls_signed):
                return UploadLinks(files=(), state=events.PUBLIC[checkpoint.state], reason=checkpoint.reason)
            if not has_part(checkpoint.parts, ask.worker):
                return UploadLinks(files=(), state="abandoned", reason=NO_PART)
            waits_for = await _waits_for(unit, checkpoint, facts, ask.worker, query)
            known = await objects.find_known(unit.connection, map(content_of, query.files))
            if full := await _refuse_full(unit, facts.tenant, query.files, known):
                await _give_up(unit, checkpoint, Trigger.over_quota, full)
                return UploadLinks(files=(), state="abandoned", reason=full)
            files = [
                File(
                    entry.path,
                    ask.worker,
                    known.get((entry.sha256, entry.size_bytes))
                    or self._place(checkpoint, ask.worker, entry, is_bound=is_bound),
                    entry.size_bytes,
                    entry.sha256,
                )
                for entry in query.files
            ]
            await manifests.save_files(unit.connection, facts.tenant, checkpoint.id, ask.worker, files)
            await checkpoints.move_checkpoint(
                unit.connection,
                checkpoint,
                Trigger.urls_signed,
                unit.now,
                waits_for=waits_for,
            )
        links, following = self._links.write_files(files, partial(_is_awaited, checkpoint), query.first)
        return UploadLinks(files=links, next=following)

    async def on_commit(self, ask: Ask, query: CommitCheckpoint) -> Committed:
        """Commit the manifest once the reports before it are committed and every object fits; else say what is missing."""
        if refusal := refuse_metadata(query.metadata):
            raise Rejected(refusal.code, refusal.reason, place="metadata")
        facts = await self._facts.of(query.run_id, ask.worker)
        tenant = TenantId(facts.tenant)
        async with self._units.tenant(tenant) as unit:
            begun = await self._begin_commit(unit, facts, ask, query)
            if isinstance(begun, Committed):
                return begun
            files = (await manifests.load_files(unit.connection, [begun.id]))[begun.id]
        try:
            taken = await self._verifier.take(begun, files, VERIFY_WAIT_S)
        except Transient as error:
            return Committed(state="uploading", retry_after_s=error.retry_after_s, reason=error.message)
        faults.point(AFTER_VERIFY)
        async with self._units.tenant(tenant) as unit:
            committed = await self._end_commit(unit, facts, begun, taken)
            kept = {file.key for file in (await manifests.load_files(unit.connection, [begun.id]))[begun.id]}
        self._verifier.drop_upload((*_awaited(begun, files), *taken.files), kept)
        return committed

    def _place(self, checkpoint: Checkpoint, worker: WorkerId, entry: FileEntry, *, is_bound: bool) -> str:
        """Where a file goes: at once to where it stays, if the store holds its sender to its content. One in parts is joined first."""
        if is_bound and entry.size_bytes <= self._links.part_bytes:
            return bound_key(checkpoint.tenant, checkpoint.id, entry)
        return upload_key(checkpoint.tenant, checkpoint.id, worker, entry)

    async def _begin_commit(
        self, unit: Unit, facts: AllocationFacts, ask: Ask, query: CommitCheckpoint
    ) -> Checkpoint | Committed:
        """The checkpoint, ready to be verified; or the answer, when there is one already."""
        run, _ = await fences.locked_run(unit, facts)
        checkpoint = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id, lock=True)
        if checkpoint is None or checkpoint.run != facts.run_id:
            raise NotFound(
                f"checkpoint {query.checkpoint_id} of run {query.run_id}", hint="ask for its upload first"
            )
        if checkpoint.state not in (State.uploading, State.committing):
            return _committed(checkpoint)
        if not has_part(checkpoint.parts, ask.worker):
            return Committed(state="abandoned", reason=NO_PART)
        if not is_allowed(run.fence, Effect.commit):
            return _committed(await _give_up(unit, checkpoint, Trigger.fenced, STALE))
        if not has_reached(await _next_report(unit, facts, ask), query.after_report):
            return Committed(
                state="uploading",
                retry_after_s=MARK_RETRY_S,
                reason="the reports before it are not committed yet",
            )
        missing = sorted(set(checkpoint.waits_for) - {ask.worker})
        metadata = {**checkpoint.metadata, **query.metadata}
        is_taken_anew = not missing and not self._verifier.is_taking(checkpoint)
        await checkpoints.save_part(unit.connection, checkpoint.id, missing, metadata, is_taken_anew)
        if missing and unit.now - checkpoint.changed_at > PARTS_WITHIN:
            reason = f"{', '.join(missing)} sent nothing of it for {PARTS_WITHIN}"
            return _committed(await _give_up(unit, checkpoint, Trigger.upload_timed_out, reason))
        if missing:
            return Committed(
                state="uploading", retry_after_s=PARTS_RETRY_S, reason=f"{', '.join(missing)} still uploads"
            )
        return await checkpoints.move_checkpoint(unit.connection, checkpoint, Trigger.commit_asked, unit.now)

    async def _end_commit(
        self, unit: Unit, facts: AllocationFacts, begun: Checkpoint, taken: Taken
    ) -> Committed:
        """Judge under the locks what was read without them: fence and manifest may have changed meanwhile."""
        run, _ = await fences.locked_run(unit, facts)
        checkpoint = await checkpoints.load_checkpoint(unit.connection, begun.id, lock=True)
        if checkpoint is None:
            raise NotFound(f"checkpoint {begun.id}")
        if checkpoint.state is not State.committing:
            return _committed(checkpoint)
        if not is_allowed(run.fence, Effect.commit):
            return _committed(await _give_up(unit, checkpoint, Trigger.fenced, STALE))
        if checkpoint.version != begun.version:
            return Committed(
                state="uploading", retry_after_s=PARTS_RETRY_S, reason="its manifest was sent anew"
            )
        if taken.lost:
            await objects.save_damaged(unit.connection, taken.lost)
        if taken.mismatch is not None:
            return await _refuse(unit, checkpoint, taken.mismatch)
        stored = await storage.lock_stored(unit.connection, checkpoint.tenant)
        known = await objects.find_known(unit.connection, map(content_of, taken.files))
        if full := refuse_growth(stored.used_bytes, _new_bytes(taken.files, known), stored.maximum_bytes):
            return _committed(await _give_up(unit, checkpoint, Trigger.over_quota, full.reason))
        return _committed(await _keep(unit, checkpoint, taken.files))


async def _announced(unit: Unit, facts: AllocationFacts, query: Upload) -> Checkpoint:
    """The checkpoint's locked row, made when this is the first that is heard of it."""
    for _ in range(2):
        found = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id, lock=True)
        if found is not None:
            if found.run != facts.run_id or found.number != query.number:
                raise Conflict(
                    "checkpoint_taken", f"checkpoint {query.checkpoint_id} is another one of this platform"
                )
            return found
        row = {
            "id": query.checkpoint_id,
            "tenant": facts.tenant,
            "experiment": facts.experiment_id,
            "trial": facts.trial_id,
            "run": facts.run_id,
            "run_number": facts.run_number,
            "token": facts.token,
            "number": query.number,
            "step": query.step,
            "created_at": unit.now,
            "changed_at": unit.now,
        }
        if not await checkpoints.insert_checkpoint(unit.connection, row):
            break
    raise Conflict("checkpoint_taken", f"run {facts.run_id} has another checkpoint of number {query.number}")


def _is_awaited(checkpoint: Checkpoint, file: File) -> bool:
    return is_awaited(checkpoint.tenant, checkpoint.id, file.key)


def _awaited(checkpoint: Checkpoint, files: Sequence[File]) -> list[File]:
    return [file for file in files if _is_awaited(checkpoint, file)]


async def _give_up(unit: Unit, checkpoint: Checkpoint, trigger: Trigger, reason: str) -> Checkpoint:
    if not CHECKPOINT.moves(checkpoint.state, trigger):
        return checkpoint
    moved = await checkpoints.move_checkpoint(unit.connection, checkpoint, trigger, unit.now, reason=reason)
    unit.emit(events.checkpoint_event(moved))
    return moved


async def _keep(unit: Unit, checkpoint: Checkpoint, copies: Sequence[File]) -> Checkpoint:
    """Saved: its copies are the tenant's objects, but for contents that came by another way meanwhile."""
    kept, new_bytes = await objects.save_objects(unit.connection, checkpoint.tenant, copies, unit.now)
    await manifests.save_keys(unit.connection, checkpoint.id, kept)
    await storage.add_used(unit.connection, checkpoint.tenant, new_bytes)
    # A copy that does not count is dropped soon; where that fails, it is looked for when the checkpoint goes.
    is_clean = (checkpoint.takes, checkpoint.attempts) == (1, 0) and kept == list(copies)
    saved = await checkpoints.move_checkpoint(
        unit.connection, checkpoint, Trigger.verified, unit.now, reason=None, is_clean=is_clean
    )
    unit.emit(events.checkpoint_event(saved))
    return saved


async def _refuse_full(
    unit: Unit, tenant: UUID, files: Sequence[FileEntry], known: Mapping[Content, str]
) -> str | None:
    """Why the files may not come; what is stored counts when they are committed, and is looked at again then."""
    stored = await storage.load_stored(unit.connection, tenant)
    full = refuse_growth(stored.used_bytes, _new_bytes(files, known), stored.maximum_bytes)
    return full.reason if full else None


def _new_bytes(files: Sequence[FileEntry | File], known: Mapping[Content, str]) -> int:
    """What the store would hold more: each content that the tenant has not, once."""
    return sum(size for _, size in {content_of(file) for file in files} - known.keys())


async def _refuse(unit: Unit, checkpoint: Checkpoint, mismatch: str) -> Committed:
    """Back to uploading, or corrupt when it has not fitted too often."""
    attempts = checkpoint.attempts + 1
    trigger = Trigger.given_up if attempts >= ATTEMPTS else Trigger.mismatched
    moved = await checkpoints.move_checkpoint(
        unit.connection, checkpoint, trigger, unit.now, reason=mismatch, attempts=attempts
    )
    if moved.state is State.corrupt:
        unit.emit(events.checkpoint_event(moved))
    return _committed(moved)


async def _waits_for(
    unit: Unit, checkpoint: Checkpoint, facts: AllocationFacts, worker: WorkerId, query: Upload
) -> list[str]:
    """The workers whose parts are to be committed after this announcement."""
    if worker == facts.chief and checkpoint.parts is None:
        parts = query.parts or (worker,)
        sent = await checkpoints.save_parts(unit.connection, checkpoint, query.step, parts)
        return awaited_by_chief(parts, worker, sent, checkpoint.waits_for)
    is_first = checkpoint.state is State.announced
    return awaited_by_member(query.parts, facts.chief, worker, None if is_first else checkpoint.waits_for)


async def _next_report(unit: Unit, facts: AllocationFacts, ask: Ask) -> int:
    return await load_next(unit.connection, facts.run_id, ask.worker, "reports") or FIRST_RECORD


def _committed(checkpoint: Checkpoint) -> Committed:
    return Committed(state=events.PUBLIC[checkpoint.state], reason=checkpoint.reason)

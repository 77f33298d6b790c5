"""What workers ask for besides reporting: code, a checkpoint to go on from, places to upload to, and the commit."""

from collections.abc import Sequence
from uuid import UUID

import orjson

from services.registry import events, fences
from services.registry.core.checkpoint import CHECKPOINT, State, Trigger, choose_newest
from services.registry.core.fencing import Effect, is_allowed
from services.registry.core.marks import FIRST_RECORD, has_reached
from services.registry.core.names import refuse_manifest
from services.registry.core.supersede import NOTHING, Attempt, plan_boundaries
from services.registry.facts import Facts
from services.registry.links import Links, upload_key
from services.registry.store import artifacts, checkpoints, trials
from services.registry.store.checkpoints import Checkpoint, File
from services.registry.store.reports import load_next
from services.registry.store.trials import StoredRun
from services.registry.verifier import Taken, Verifier
from shared import faults
from shared.bus import Ask, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, NotFound, Rejected, Transient
from shared.ids import CheckpointId, TenantId
from shared.messages.checkpoints import CommitCheckpoint, Committed, Restore, Restored, Upload, UploadLinks
from shared.messages.files import CodeLink, GetCode
from shared.messages.runs import AllocationFacts

AFTER_VERIFY = faults.register("registry.after_verify")
ATTEMPTS = 3
"""So often an upload may not fit its manifest; then the checkpoint is corrupt."""
VERIFY_WAIT_S = 3.0
MARK_RETRY_S = 0.1
PARTS_RETRY_S = 0.5
METADATA_BYTES = 64 * 1024
STALE = "a later run of the trial was granted, or this one was given up"


class Requests:
    """Answers `wrq.v1.<worker>.code`, `.restore`, `.upload` and `.commit`."""

    def __init__(self, units: Units, facts: Facts, links: Links, verifier: Verifier) -> None:
        self._units = units
        self._facts = facts
        self._links = links
        self._verifier = verifier

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {
            GetCode: self.on_code,
            Restore: self.on_restore,
            Upload: self.on_upload,
            CommitCheckpoint: self.on_commit,
        }

    async def on_code(self, ask: Ask, query: GetCode) -> CodeLink:
        """Return where the run's code is read; raises `NotFound` for a run without code."""
        facts = await self._facts.of(query.run_id, ask.worker)
        if facts.code_hash is None:
            raise NotFound(
                f"the code of run {query.run_id}", hint="its experiment was submitted without a folder"
            )
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            found = await artifacts.load_artifact(unit.connection, "code", facts.code_hash)
        if found is None:
            raise NotFound(f"the code {facts.code_hash}", hint="submit the experiment again")
        key, size_bytes = found
        return CodeLink(sha256=facts.code_hash, size_bytes=size_bytes, url=self._links.read(key))

    async def on_restore(self, ask: Ask, query: Restore) -> Restored:
        """Choose what the run goes on from, once: every member, and every repeat, gets the same answer."""
        facts = await self._facts.of(query.run_id, ask.worker)
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, known = await fences.locked_run(unit, facts)
            if not is_allowed(run.fence, Effect.restore):
                raise Rejected("stale_token", f"run {query.run_id} may not start: {STALE}")
            chosen = await self._choose(unit, facts, run)
            step = chosen.step if chosen else NOTHING
            if run.resumed_from is None or run.restored != (chosen.id if chosen else None):
                await trials.save_resumption(unit.connection, run.run, step, chosen.id if chosen else None)
                await _supersede(unit, known, Attempt(run.number, step))
            files = await checkpoints.load_files(unit.connection, [chosen.id]) if chosen else {}
        if chosen is None:
            return Restored()
        return Restored(
            checkpoint_id=CheckpointId(chosen.id),
            step=chosen.step,
            files=self._links.read_files(files[chosen.id]),
        )

    async def on_upload(self, ask: Ask, query: Upload) -> UploadLinks:
        """Announce a checkpoint, and sign one PUT for each file; repeatable."""
        manifest = [(entry.path, entry.size_bytes, entry.sha256) for entry in query.files]
        if refusal := refuse_manifest(manifest):
            raise Rejected(refusal.code, refusal.reason, place="files")
        facts = await self._facts.of(query.run_id, ask.worker)
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, _ = await fences.locked_run(unit, facts)
            checkpoint = await _announced(unit, facts, query)
            if not is_allowed(run.fence, Effect.announce):
                await _give_up(unit, checkpoint, Trigger.fenced, STALE)
                return UploadLinks(files=(), state="abandoned")
            if not CHECKPOINT.moves(checkpoint.state, Trigger.urls_signed):
                return UploadLinks(files=(), state=events.PUBLIC[checkpoint.state])
            files = [
                File(
                    entry.path,
                    ask.worker,
                    upload_key(facts.tenant, checkpoint.id, ask.worker, entry),
                    entry.size_bytes,
                    entry.sha256,
                )
                for entry in query.files
            ]
            await checkpoints.save_files(unit.connection, facts.tenant, checkpoint.id, ask.worker, files)
            await checkpoints.move_checkpoint(
                unit.connection,
                checkpoint,
                Trigger.urls_signed,
                unit.now,
                waits_for=sorted({*checkpoint.waits_for, ask.worker}),
            )
        return UploadLinks(files=self._links.write_files(files))

    async def on_commit(self, ask: Ask, query: CommitCheckpoint) -> Committed:
        """Commit the manifest once the reports before it are committed and every object fits; else say what is missing."""
        if (
            len(orjson.dumps(query.metadata)) > METADATA_BYTES
            or "\\u0000" in orjson.dumps(query.metadata).decode()
        ):
            raise Rejected(
                "metadata_unfit", f"metadata has at most {METADATA_BYTES} bytes of text without NUL"
            )
        facts = await self._facts.of(query.run_id, ask.worker)
        tenant = TenantId(facts.tenant)
        async with self._units.tenant(tenant) as unit:
            begun = await self._begin_commit(unit, facts, ask, query)
            if isinstance(begun, Committed):
                return begun
            files = (await checkpoints.load_files(unit.connection, [begun.id]))[begun.id]
        try:
            taken = await self._verifier.take(begun, files, VERIFY_WAIT_S)
        except Transient as error:
            return Committed(state="uploading", retry_after_s=error.retry_after_s, reason=error.message)
        faults.point(AFTER_VERIFY)
        async with self._units.tenant(tenant) as unit:
            committed = await self._end_commit(unit, facts, begun, taken)
            kept = (await checkpoints.load_files(unit.connection, [begun.id]))[begun.id]
        self._verifier.drop({*files, *taken.files} - {*kept})
        return committed

    async def _choose(self, unit: Unit, facts: AllocationFacts, run: StoredRun) -> Checkpoint | None:
        """The checkpoint answered before while it is good; else the trial's newest good one; else its start."""
        if run.resumed_from == NOTHING:
            return None
        if run.restored is not None:
            before = await checkpoints.load_checkpoint(unit.connection, run.restored)
            if before is not None and before.state is State.saved:
                return before
        if (newest := await _newest(unit, facts.trial_id)) is not None:
            return newest
        wanted = facts.start_checkpoint
        if wanted is None:
            return None
        found = await checkpoints.load_checkpoint(unit.connection, wanted)
        if found is not None and found.state is not State.saved and found.experiment == facts.experiment_id:
            # A copy starts from a trial of its experiment, whichever of that one's checkpoints is good.
            found = await _newest(unit, found.trial) or found
        if found is None or found.state is not State.saved:
            raise Rejected(
                "start_checkpoint_gone",
                f"the start checkpoint {wanted} is {found.state if found else 'unknown'}",
                hint="start from one that `muster checkpoint list` shows as saved",
            )
        return found

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
        await checkpoints.save_part(unit.connection, checkpoint.id, missing, metadata)
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
        if taken.mismatch is not None:
            return await _refuse(unit, checkpoint, taken.mismatch)
        await checkpoints.save_keys(unit.connection, checkpoint.id, taken.files)
        saved = await checkpoints.move_checkpoint(
            unit.connection, checkpoint, Trigger.verified, unit.now, reason=None
        )
        unit.emit(events.checkpoint_event(saved))
        return _committed(saved)


async def _newest(unit: Unit, trial: UUID) -> Checkpoint | None:
    """A trial's newest good checkpoint."""
    newest = choose_newest(await checkpoints.load_candidates(unit.connection, trial))
    return await checkpoints.load_checkpoint(unit.connection, newest.checkpoint) if newest else None


async def _supersede(unit: Unit, known: Sequence[StoredRun], resumed: Attempt) -> None:
    attempts = [resumed if run.number == resumed.number else run.attempt for run in known]
    boundaries = plan_boundaries(attempts)
    changed: dict[UUID, int] = {}
    for run in known:
        boundary = boundaries[run.number]
        if boundary is not None and boundary != run.superseded_after:
            changed[run.run] = boundary
    if changed:
        await trials.save_boundaries(unit.connection, changed)


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


async def _give_up(unit: Unit, checkpoint: Checkpoint, trigger: Trigger, reason: str) -> Checkpoint:
    if not CHECKPOINT.moves(checkpoint.state, trigger):
        return checkpoint
    moved = await checkpoints.move_checkpoint(unit.connection, checkpoint, trigger, unit.now, reason=reason)
    unit.emit(events.checkpoint_event(moved))
    return moved


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


async def _next_report(unit: Unit, facts: AllocationFacts, ask: Ask) -> int:
    return await load_next(unit.connection, facts.run_id, ask.worker, "reports") or FIRST_RECORD


def _committed(checkpoint: Checkpoint) -> Committed:
    return Committed(state=events.PUBLIC[checkpoint.state], reason=checkpoint.reason)

"""Announced checkpoints: records their files and signs upload URLs. `commits` verifies what was uploaded."""

from collections.abc import Sequence
from functools import partial

from services.registry.checkpoints import abandoning
from services.registry.checkpoints.commits import NO_PART, STALE, is_of
from services.registry.checkpoints.core.manifest import refuse_manifest
from services.registry.checkpoints.core.shards import awaited_by_chief, awaited_by_member, has_shard
from services.registry.checkpoints.store import checkpoints
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.core.checkpoint import CHECKPOINT, PUBLIC, CheckpointStatus, CheckpointTrigger
from services.registry.runs import fences
from services.registry.runs.reporting_workers import Facts
from services.registry.runs.store.trials import StoredRun
from services.registry.storage.links import PresignedUrls, bound_key, upload_key
from services.registry.storage.quota import refuse_contents
from services.registry.storage.store import files as manifests, objects
from services.registry.storage.store.files import File
from services.registry.storage.store.objects import content_of
from shared.bus import RequestContext, Unit, Units
from shared.bus.responder import Answer, Question
from shared.errors import Conflict, Rejected, Transient
from shared.ids import RunId, TenantId, WorkerId
from shared.messages.checkpoints import (
    ManifestPage,
    Upload,
    UploadLinks,
    UploadLinksOfMany,
    UploadMany,
)
from shared.messages.files import FileEntry
from shared.messages.runs import AllocationFacts
from shared.objects.signed_upload_check import Binding

LEFT_RETRY_S = 2.0


class Announcements:
    """Answers `wrq.v1.<worker>.upload` and `upload_many`."""

    def __init__(self, units: Units, facts: Facts, links: PresignedUrls, binding: Binding) -> None:
        self._units = units
        self._facts = facts
        self._links = links
        self._binding = binding

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {Upload: self.on_upload, UploadMany: self.on_upload_many}

    async def on_upload(self, ask: RequestContext, query: Upload) -> UploadLinks:
        """Announce a checkpoint, and sign one PUT for each file that the tenant does not store yet. Idempotent."""
        (answer,) = await self._answer(ask, query.run_id, (query,))
        return answer

    async def on_upload_many(self, ask: RequestContext, query: UploadMany) -> UploadLinksOfMany:
        """Announce several checkpoints of one run in one transaction."""
        if any(one.run_id != query.run_id for one in query.uploads):
            raise Rejected("runs_differ", "checkpoints announced in one request must belong to one run")
        return UploadLinksOfMany(answers=tuple(await self._answer(ask, query.run_id, query.uploads)))

    async def _answer(
        self, ask: RequestContext, run_id: RunId, queries: Sequence[Upload]
    ) -> list[UploadLinks]:
        pages = [query.page or ManifestPage(files=query.files, parts=query.parts) for query in queries]
        for query, page in zip(queries, pages, strict=True):
            if query.given_up is None and (page.files or not page.parts):
                _check(page.files)
        facts = await self._facts.of(run_id, ask.worker)
        for worker in dict.fromkeys(worker for page in pages for worker in page.parts):
            facts = await self._facts.of(run_id, worker)
        binds = any(query.takes_headers for query in queries) and await self._binding.holds()
        async with self._units.tenant(TenantId(facts.tenant)) as unit:
            run, _ = await fences.locked_run(unit, facts)
            announced = [
                await self._announce(
                    unit, facts, run, ask.worker, query, page, is_bound=binds and query.takes_headers
                )
                for query, page in zip(queries, pages, strict=True)
            ]
        return [
            answer if isinstance(answer, UploadLinks) else self._sign(*answer, query.first)
            for query, answer in zip(queries, announced, strict=True)
        ]

    def _sign(self, checkpoint: CheckpointRow, files: Sequence[File], first: int | None) -> UploadLinks:
        links, following = self._links.write_files(files, partial(is_of, checkpoint), first)
        return UploadLinks(files=links, next=following)

    async def _announce(
        self,
        unit: Unit,
        facts: AllocationFacts,
        run: StoredRun,
        sender: WorkerId,
        query: Upload,
        page: ManifestPage,
        *,
        is_bound: bool,
    ) -> tuple[CheckpointRow, list[File]] | UploadLinks:
        """Return the checkpoint with the files that it now waits for, or the answer if it needs none."""
        checkpoint = await _announced(unit, facts, run, sender, query)
        if run.fence.is_stale:
            await abandoning.abandon(unit, checkpoint, CheckpointTrigger.fenced, STALE)
            return UploadLinks(files=(), state="abandoned", reason=STALE)
        if not CHECKPOINT.moves(checkpoint.state, CheckpointTrigger.urls_signed):
            return UploadLinks(files=(), state=PUBLIC[checkpoint.state], reason=checkpoint.reason)
        if not has_shard(checkpoint.shard_workers, sender):
            return UploadLinks(files=(), state="abandoned", reason=NO_PART)
        if checkpoint.shard_workers is None:
            _require_present(run, sender)
        if query.given_up is not None:
            reason = f"worker {sender} cannot upload the checkpoint: {query.given_up}"
            await abandoning.abandon(unit, checkpoint, CheckpointTrigger.upload_failed, reason)
            return UploadLinks(files=(), state="abandoned", reason=reason)
        pending_workers = await _awaited(unit, checkpoint, facts, sender, query.step, page.parts)
        others = await _sent_before(unit, checkpoint, sender, page) if query.page else []
        contents = [*map(content_of, page.files), *map(content_of, others)]
        if full := await refuse_contents(unit, facts.tenant, facts.experiment_id, contents):
            await abandoning.abandon(unit, checkpoint, CheckpointTrigger.over_quota, full)
            return UploadLinks(files=(), state="abandoned", reason=full)
        known = await objects.find_known(unit.connection, map(content_of, page.files))
        files = [
            File(
                entry.path,
                sender,
                known.get((entry.sha256, entry.size_bytes))
                or self._upload_key(checkpoint, sender, entry, is_bound=is_bound),
                entry.size_bytes,
                entry.sha256,
            )
            for entry in page.files
        ]
        await manifests.save_files(unit.connection, facts.tenant, checkpoint.id, sender, [*files, *others])
        await checkpoints.move_checkpoint(
            unit.connection,
            checkpoint,
            CheckpointTrigger.urls_signed,
            unit.now,
            pending_workers=pending_workers,
        )
        return checkpoint, files

    def _upload_key(
        self, checkpoint: CheckpointRow, worker: WorkerId, entry: FileEntry, *, is_bound: bool
    ) -> str:
        """Return where to upload a file: its final key if the store enforces the content, else an incoming key. Files in parts are joined later."""
        if is_bound and entry.size_bytes <= self._links.part_bytes:
            return bound_key(checkpoint.tenant, checkpoint.id, entry)
        return upload_key(checkpoint.tenant, checkpoint.id, worker, entry)


def _check(files: Sequence[FileEntry | File]) -> None:
    if refusal := refuse_manifest([(one.path, one.size_bytes, one.sha256) for one in files]):
        raise Rejected(refusal.code, refusal.reason, place="files")


def _require_present(run: StoredRun, sender: WorkerId) -> None:
    """Raise `Transient` for a worker that left the run: it gets URLs once rank 0 has listed it for the checkpoint."""
    if run.membership.has_left(sender):
        raise Transient(
            f"worker {sender} has left run {run.run}; rank 0 has not listed it for this checkpoint",
            LEFT_RETRY_S,
        )


async def _sent_before(
    unit: Unit, checkpoint: CheckpointRow, worker: WorkerId, page: ManifestPage
) -> list[File]:
    """Return the worker's files from other pages. Raises Rejected if all pages together are not a valid manifest."""
    here = {entry.path for entry in page.files}
    files = (await manifests.load_files(unit.connection, [checkpoint.id]))[checkpoint.id]
    others = [file for file in files if file.worker == worker and file.path not in here]
    _check([*page.files, *others])
    return others


async def _announced(
    unit: Unit, facts: AllocationFacts, run: StoredRun, sender: WorkerId, query: Upload
) -> CheckpointRow:
    """Return the checkpoint's locked row; create it with the first announcement."""
    for _ in range(2):
        found = await checkpoints.load_checkpoint(unit.connection, query.checkpoint_id, lock=True)
        if found is not None:
            if found.run != facts.run_id or found.number != query.number:
                raise Conflict(
                    "checkpoint_taken",
                    f"the checkpoint id {query.checkpoint_id} is in use for another checkpoint",
                )
            return found
        if not run.fence.is_stale:  # else it is recorded as abandoned, without URLs
            fences.require(run.membership.refuse_new_checkpoint(query.number), facts.run_id, sender)
            _require_present(run, sender)
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
    raise Conflict(
        "checkpoint_taken", f"run {facts.run_id} has another checkpoint with number {query.number}"
    )


async def _awaited(
    unit: Unit,
    checkpoint: CheckpointRow,
    facts: AllocationFacts,
    worker: WorkerId,
    step: int,
    parts: Sequence[WorkerId],
) -> list[str]:
    """Return the workers that must still commit their files after this announcement."""
    if worker == facts.chief and checkpoint.shard_workers is None:
        whose = parts or (worker,)
        sent = await checkpoints.save_parts(unit.connection, checkpoint, step, whose)
        return awaited_by_chief(whose, worker, sent, checkpoint.pending_workers)
    is_first = checkpoint.state is CheckpointStatus.announced
    return awaited_by_member(parts, facts.chief, worker, None if is_first else checkpoint.pending_workers)

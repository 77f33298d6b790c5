"""Exports of an experiment's data, written in pieces to objects that are served by presigned URLs for a day."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Generic, Protocol, TypeVar
from uuid import UUID

import pyarrow as pa
import structlog
from pydantic import BaseModel

from services.registry.concurrency import FairConcurrencyLimit
from services.registry.exports.core.files import SUFFIXES, ExportFile, Format
from services.registry.storage.links import PresignedUrls
from shared.bus import RequestContext
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.errors import MusterError, NotFound, Transient
from shared.ids import TenantId, derived_id, new_id
from shared.messages.exports import Export, Exported
from shared.messages.files import FileEntry, FileLink
from shared.objects import ObjectStore
from shared.objects.interface import read_all
from shared.runtime import faults

EXPORTS = "exports/"
KEPT_FOR = timedelta(hours=24)
AT_ONCE = 2
"""Exports written concurrently by a replica, each with one file in memory; others wait, fairly by tenant."""
WAITING = 20
"""Exports of a tenant being written or waiting; further requests are told to retry."""
WAITED_FOR_S = 1.5
"""Small exports finish within this time and are returned at once."""
FILES_PER_PAGE = 200
MANIFEST_BYTES = 4 * 1024 * 1024
BEFORE_MANIFEST = faults.register("registry.before_export_manifest")
_log = structlog.get_logger()

Q = TypeVar("Q", bound=Export)
Q_contra = TypeVar("Q_contra", bound=Export, contravariant=True)


class ExportSource(Protocol[Q_contra]):
    """Data that can be exported."""

    async def load_version(self, tenant: TenantId, question: Q_contra) -> tuple[str | int, ...]:
        """Return a value that changes whenever the rows change.

        Raises:
            Rejected: The query is not valid.
        """
        ...

    def read(self, tenant: TenantId, question: Q_contra) -> AsyncIterator[pa.Table]:
        """Yield the rows in pieces with one schema; at least one piece, which may be empty."""
        ...


class _Manifest(BaseModel):
    """What was written: the files below `attempt`, for the query in `asked`."""

    asked: str
    attempt: UUID
    rows: int
    files: tuple[FileEntry, ...]


class Exports(Generic[Q]):
    """Answers export queries of one kind. If a replica dies, the next query starts its export again."""

    def __init__(
        self,
        kind: type[Q],
        source: ExportSource[Q],
        objects: ObjectStore,
        links: PresignedUrls,
        clock: Clock,
        limit: FairConcurrencyLimit,
    ) -> None:
        self._kind = kind
        self._source = source
        self._objects = objects
        self._links = links
        self._clock = clock
        self._limit = limit
        self._running: dict[tuple[TenantId, UUID], asyncio.Task[_Manifest]] = {}

    def answers(self) -> Mapping[Question, Answer]:
        """Return the answers for the responder."""
        return {self._kind: self.on_export}

    async def close(self) -> None:
        """Cancel exports being written; none of them has been returned to a client."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def on_export(self, ask: RequestContext, query: Q) -> Exported:
        """Start an export, or return its state. An unknown experiment has one file without rows."""
        question = query.model_copy(update={"export_id": None, "first": 0})
        asked = f"{question.TYPE} {question.model_dump_json()}"
        export = query.export_id or derived_id(
            question.experiment_id, asked, *await self._source.load_version(ask.tenant, question)
        )
        manifest = await self._load(ask.tenant, export)
        if manifest is None:
            task = self._task(ask.tenant, export, question, asked)
            await asyncio.wait({task}, timeout=WAITED_FOR_S)
            if not task.done():
                return Exported(export_id=export)
            manifest = task.result()
        if manifest.asked != asked:
            raise NotFound(f"export {export} of this query", "omit the export id to start a new export")
        return self._answer(ask.tenant, export, manifest, query.first)

    def _answer(self, tenant: TenantId, export: UUID, manifest: _Manifest, first: int) -> Exported:
        """Return a page of the export's files."""
        below, end = f"{prefix_of(tenant, export)}{manifest.attempt}/", first + FILES_PER_PAGE
        files = tuple(
            FileLink(**file.model_dump(), url=self._links.read(f"{below}{file.path}"))
            for file in manifest.files[first:end]
        )
        more = end if end < len(manifest.files) else None
        return Exported(export_id=export, is_ready=True, rows=manifest.rows, files=files, next=more)

    async def _load(self, tenant: TenantId, export: UUID) -> _Manifest | None:
        try:
            found = await read_all(self._objects, _manifest_key(tenant, export), MANIFEST_BYTES)
        except NotFound:
            return None
        return _Manifest.model_validate_json(found)

    def _task(self, tenant: TenantId, export: UUID, question: Q, asked: str) -> asyncio.Task[_Manifest]:
        key = tenant, export
        task = self._running.get(key)
        if task is None:
            if Counter(of for of, _ in self._running)[tenant] >= WAITING:
                raise Transient(
                    f"the tenant has {WAITING} exports in progress, the maximum; retry later",
                    retry_after_s=2.0,
                )
            task = asyncio.create_task(self._write(tenant, export, question, asked))
            self._running[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return task

    def _ended(self, key: tuple[TenantId, UUID], task: asyncio.Task[_Manifest]) -> None:
        self._running.pop(key, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            known = isinstance(error, MusterError)
            _log.warning(
                "an export failed", export=str(key[1]), error=str(error), exc_info=None if known else error
            )

    async def _write(self, tenant: TenantId, export: UUID, question: Q, asked: str) -> _Manifest:
        attempt = new_id(self._clock)
        async with self._limit.hold(tenant):
            writer = _Writer(self._objects, f"{prefix_of(tenant, export)}{attempt}/", question.format)
            async for rows in self._source.read(tenant, question):
                await writer.add(rows)
            await writer.end()
        faults.point(BEFORE_MANIFEST)
        manifest = _Manifest(asked=asked, attempt=attempt, rows=writer.rows, files=tuple(writer.files))
        # Two replicas may have written it: the first manifest wins.
        if await self._objects.put_if_absent(
            _manifest_key(tenant, export), manifest.model_dump_json().encode()
        ):
            return manifest
        return await self._load(tenant, export) or manifest


class _Writer:
    """Writes the files of one attempt, one after the other."""

    def __init__(self, objects: ObjectStore, prefix: str, format: Format) -> None:
        self.files: list[FileEntry] = []
        self.rows = 0
        self._objects = objects
        self._prefix = prefix
        self._format = format
        self._part: ExportFile | None = None

    async def add(self, rows: pa.Table) -> None:
        if self._part is None:
            self._part = ExportFile(rows.schema, self._format)
        if await asyncio.to_thread(self._part.add, rows):
            await self.end()

    async def end(self) -> None:
        """Store the last file. An export has at least one file, so that its schema is known."""
        part, self._part = self._part, None
        if part is None or (self.files and not part.rows):
            return
        content = await asyncio.to_thread(part.end)
        path = f"part-{len(self.files):05d}.{SUFFIXES[self._format]}"
        await self._objects.put(f"{self._prefix}{path}", content)
        sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
        self.files.append(FileEntry(path=path, size_bytes=len(content), sha256=sha256))
        self.rows += part.rows


async def sweep(objects: ObjectStore, clock: Clock) -> None:
    """Delete exports older than a day."""
    before = clock.now() - KEPT_FOR
    old = [one.key async for one in objects.list(EXPORTS) if one.modified < before]
    await objects.delete_many(old)


def prefix_of(tenant: TenantId, export: UUID | None = None) -> str:
    """Return the key prefix of an export, or of all the tenant's exports."""
    return f"{EXPORTS}{tenant}/{export}/" if export else f"{EXPORTS}{tenant}/"


def _manifest_key(tenant: TenantId, export: UUID) -> str:
    return f"{prefix_of(tenant, export)}manifest"

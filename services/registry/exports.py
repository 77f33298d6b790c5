"""Exports: all points of an experiment, written piece by piece into objects that are given out as signed URLs for a day."""

import asyncio
import hashlib
from datetime import timedelta
from uuid import UUID

import structlog
from pydantic import BaseModel

from services.registry.core.exporting import SUFFIXES, Part
from services.registry.links import Links
from services.registry.store import exports as store
from shared.bus import Ask, Units
from shared.bus.responder import Answer, Question
from shared.clock import Clock
from shared.driver import Driver
from shared.errors import MusterError, NotFound, Transient
from shared.ids import TenantId, derived_id, new_id
from shared.messages.exports import Exported, ExportMetrics
from shared.messages.files import FileEntry, FileLink
from shared.objects import ObjectStore
from shared.objects.port import read_all

EXPORTS = "exports/"
KEPT_FOR = timedelta(hours=24)
AT_ONCE = 2
"""So many are written at a time by a replica; further ones are told to come again."""
WAITED_FOR_S = 1.5
"""A small export is answered at once."""
MANIFEST_BYTES = 4 * 1024 * 1024
_log = structlog.get_logger()


class _Manifest(BaseModel):
    """What was written: `question` without its id, the parts below `attempt`."""

    question: ExportMetrics
    attempt: UUID
    rows: int
    files: tuple[FileEntry, ...]


class Exports:
    """Answers `qry.v1.registry.export`. What a killed replica began is begun anew by the next question."""

    def __init__(self, units: Units, objects: ObjectStore, links: Links, clock: Clock) -> None:
        self._units = units
        self._objects = objects
        self._links = links
        self._clock = clock
        self._running: dict[tuple[TenantId, UUID], asyncio.Task[_Manifest]] = {}

    def answers(self) -> dict[Question, Answer]:
        """What a responder is given."""
        return {ExportMetrics: self.on_export}

    async def close(self) -> None:
        """End what is being written; nobody has been given any of it."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def on_export(self, ask: Ask, query: ExportMetrics) -> Exported:
        """Begin an export, or say how far it is; an unknown experiment has no rows and no files."""
        question = query.model_copy(update={"export_id": None})
        export = query.export_id or await self._id_of(ask.tenant, question)
        manifest = await self._load(ask.tenant, export)
        if manifest is None:
            task = self._task(ask.tenant, export, question)
            await asyncio.wait({task}, timeout=WAITED_FOR_S)
            if not task.done():
                return Exported(export_id=export)
            manifest = task.result()
        if manifest.question != question:
            raise NotFound(f"export {export} of this", "ask without an id to begin one")
        prefix = _prefix(ask.tenant, export)
        files = tuple(
            FileLink(**file.model_dump(), url=self._links.read(f"{prefix}{manifest.attempt}/{file.path}"))
            for file in manifest.files
        )
        return Exported(export_id=export, is_ready=True, rows=manifest.rows, files=files)

    async def sweep(self) -> None:
        """Delete exports that are older than a day."""
        before = self._clock.now() - KEPT_FOR
        old = [one.key async for one in self._objects.list(EXPORTS) if one.modified < before]
        await self._objects.delete_many(old)

    async def _id_of(self, tenant: TenantId, question: ExportMetrics) -> UUID:
        """The same points asked for in the same way have one export."""
        async with self._units.tenant(tenant) as unit:
            driver = Driver.of(unit.connection)
            counts = await store.count_points(driver, question.experiment_id, question.group, question.names)
        asked = question.format, repr(question.group), repr(question.names), *counts
        return derived_id(question.experiment_id, "export", *asked)

    async def _load(self, tenant: TenantId, export: UUID) -> _Manifest | None:
        try:
            found = await read_all(self._objects, f"{_prefix(tenant, export)}manifest", MANIFEST_BYTES)
        except NotFound:
            return None
        return _Manifest.model_validate_json(found)

    def _task(self, tenant: TenantId, export: UUID, question: ExportMetrics) -> asyncio.Task[_Manifest]:
        place = tenant, export
        task = self._running.get(place)
        if task is None:
            if len(self._running) >= AT_ONCE:
                raise Transient("other exports are being written", retry_after_s=2.0)
            task = asyncio.create_task(self._write(tenant, export, question))
            self._running[place] = task
            task.add_done_callback(lambda done: self._ended(place, done))
        return task

    def _ended(self, place: tuple[TenantId, UUID], task: asyncio.Task[_Manifest]) -> None:
        self._running.pop(place, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            known = isinstance(error, MusterError)
            _log.warning(
                "an export failed", export=str(place[1]), error=str(error), exc_info=None if known else error
            )

    async def _write(self, tenant: TenantId, export: UUID, question: ExportMetrics) -> _Manifest:
        attempt, prefix = new_id(self._clock), _prefix(tenant, export)
        files: list[FileEntry] = []
        rows = 0
        wanted = question.group, question.names

        async def put(part: Part) -> None:
            content = await asyncio.to_thread(part.end)
            path = f"part-{len(files):05d}.{SUFFIXES[question.format]}"
            await self._objects.put(f"{prefix}{attempt}/{path}", content)
            sha256 = await asyncio.to_thread(lambda: hashlib.sha256(content).hexdigest())
            files.append(FileEntry(path=path, size_bytes=len(content), sha256=sha256))

        async with self._units.tenant(tenant) as unit:
            sources = await store.plan_sources(Driver.of(unit.connection), question.experiment_id, *wanted)
        part = Part(question.format)
        for source in sources:
            # A transaction each: one over a long export would keep the database from tidying up.
            async with self._units.tenant(tenant) as unit:
                found = await store.load_rows(Driver.of(unit.connection), source, *wanted)
            if await asyncio.to_thread(part.add, found):
                rows += part.rows
                await put(part)
                part = Part(question.format)
        if part.rows or not files:
            rows += part.rows
            await put(part)
        manifest = _Manifest(question=question, attempt=attempt, rows=rows, files=tuple(files))
        # Two replicas may have written it: the first one's stands.
        if await self._objects.put_if_absent(f"{prefix}manifest", manifest.model_dump_json().encode()):
            return manifest
        return await self._load(tenant, export) or manifest


def _prefix(tenant: TenantId, export: UUID) -> str:
    return f"{EXPORTS}{tenant}/{export}/"

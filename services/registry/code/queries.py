"""Queries on code archives. They are read from the store each time, because few clients ask."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

from muster.archive import ArchivedFile, list_files, read_file
from services.registry.code.core import MOST_TEXT_BYTES, fitting, text_of
from services.registry.code.store import load_artifact
from services.registry.concurrency import FairConcurrencyLimit
from shared.bus import RequestContext, Units
from shared.bus.responder import Answer, Question
from shared.errors import NotFound, Transient
from shared.messages.files import CodeFiles, CodeText, FileEntry, GetCodeFiles, GetCodeText
from shared.objects import ObjectStore

AT_ONCE = 2
"""Archives unpacked concurrently; each occupies a processor."""
_IN_MEMORY_BYTES = 4 * 1024 * 1024


class CodeQueries:
    """Answers `qry.v1.registry.code_files` and `.code_text`."""

    def __init__(self, units: Units, objects: ObjectStore) -> None:
        self._units = units
        self._objects = objects
        self._limit = FairConcurrencyLimit(AT_ONCE)

    def answers(self) -> dict[Question, Answer]:
        """Return the answers for the responder."""
        return {GetCodeFiles: self.on_files, GetCodeText: self.on_text}

    async def on_files(self, ask: RequestContext, query: GetCodeFiles) -> CodeFiles:
        """Return as many files as fit into a reply, from the requested index on."""
        async with self._archive(ask, query.sha256) as (packed, size_bytes):
            files = await asyncio.to_thread(list_files, packed)
        page, following = fitting(files, query.first)
        return CodeFiles(size_bytes=size_bytes, files=tuple(map(_entry, page)), next=following)

    async def on_text(self, ask: RequestContext, query: GetCodeText) -> CodeText:
        """Return one file's text, truncated if it is long."""
        async with self._archive(ask, query.sha256) as (packed, _):
            file, content = await asyncio.to_thread(read_file, packed, query.path, MOST_TEXT_BYTES)
        is_cut = len(content) < file.size_bytes
        text = text_of(content, is_cut)
        return CodeText(file=_entry(file), text=text, is_cut=is_cut and text is not None)

    @asynccontextmanager
    async def _archive(self, ask: RequestContext, sha256: str) -> AsyncIterator[tuple[IO[bytes], int]]:
        """Yield an archive of the tenant, in memory or on disk if it is large, and its size."""
        async with self._units.tenant(ask.tenant) as unit:
            found = await load_artifact(unit.connection, "code", sha256)
        if found is None:
            raise NotFound("the code")
        key, size_bytes = found
        async with self._limit.hold(ask.tenant):
            try:
                with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as packed:
                    async for piece in self._objects.get(key):
                        packed.write(piece)
                    packed.seek(0)
                    yield packed, size_bytes
            except OSError as error:
                raise Transient(f"the archive cannot be stored on disk while it is read: {error}") from error


def _entry(file: ArchivedFile) -> FileEntry:
    return FileEntry(path=file.path, size_bytes=file.size_bytes, sha256=file.sha256)

"""Searches log lines in database chunks and in objects (`object_parts`), several segments concurrently, with results in order.

Decompressing and matching run in a few threads, because both release the GIL. Plain reads such as a tail have a thread of their own, so that they
do not wait for a pattern that scans gigabytes. No transaction is open meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TypeVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from services.registry.logs.core.line_columns import Block, KeptLine, ObjectPart
from services.registry.logs.core.matching import Matcher
from services.registry.logs.object_parts import PAGE_BYTES, SEARCHED_BYTES, read_parts
from services.registry.logs.store import chunks as logs, objects as log_objects
from services.registry.logs.store.chunks import StoredChunk
from services.registry.logs.store.objects import StoredObject, TrialLog
from shared.bus import Units
from shared.errors import NotFound
from shared.ids import TenantId
from shared.objects import ObjectStore

THREADS = 2
AHEAD = 4
"""Segments of a search that are fetched and matched concurrently."""
LINES_PER_READ = 5_000
FOUND_BYTES = 300 * 1024
"""Size of a page; a segment stops when it has found this much."""
LINE_BYTES = 100
"""Size of a line in a reply without its text."""

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LogSearch:
    """A search for about `most` lines. When `is_over` returns true, it stops with the next request's parts.

    Attributes:
        numbers_only: Find all matching lines, and return only their numbers.
    """

    matcher: Matcher
    most: int
    is_over: Callable[[], bool]
    numbers_only: bool = False


@dataclass(slots=True)
class Found:
    """Matching lines in order, or their numbers, and the number of the last line scanned."""

    search: LogSearch
    upto: int
    lines: list[KeptLine] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the lines fill a page."""
        return len(self.lines) >= self.search.most or self.size >= FOUND_BYTES

    @property
    def is_done(self) -> bool:
        """Whether to stop with what was found."""
        return self.is_full or self.search.is_over()

    def look_through(self, first: int, texts: pa.StringArray, block: Callable[[], Block]) -> bool:
        """Add matching lines after those already scanned, numbered from `first` on; return whether to stop."""
        matching = self.search.matcher.matching_indices(texts, block)
        matching = matching[matching > self.upto - first]
        self.upto = first + len(texts) - 1
        if len(matching):
            self._take(first, matching, block)
        if self.is_full:
            self.upto = self.lines[-1].number
        return self.is_done

    def _take(self, first: int, matching: np.ndarray, block: Callable[[], Block]) -> None:
        if self.search.numbers_only:
            self.numbers += (first + matching).tolist()
            return
        lines = block().lines(matching[: self.search.most - len(self.lines)])
        self.lines += lines
        self.size += sum(len(line.text) + LINE_BYTES for line in lines)


@dataclass(frozen=True, slots=True)
class LogSegment:
    """A segment of a trial's log after a line, scanned at once: the lines of one object, or all lines in chunks."""

    log: TrialLog
    after: int
    stored: StoredObject | None = None

    @property
    def first(self) -> int:
        """Number of the first line to scan."""
        return max(self.after + 1, self.stored.first if self.stored else 0)


def pieces_of(log: TrialLog, after: int) -> list[LogSegment]:
    """Return the segments of a trial's log to scan, in order."""
    pieces = [LogSegment(log, after, one) for one in log.objects if one.following > after + 1]
    hot = max(after, log.first_unpacked - 1)
    return [*pieces, LogSegment(log, hot)] if hot < log.next - 1 else pieces


class LogReader:
    """Scans logs."""

    def __init__(self, units: Units, objects: ObjectStore) -> None:
        self._units = units
        self._objects = objects
        self._threads = ThreadPoolExecutor(THREADS, "logs")
        self._reading = ThreadPoolExecutor(1, "log pages")

    async def close(self) -> None:
        """Shut the threads down."""
        for threads in (self._threads, self._reading):
            threads.shutdown(wait=False, cancel_futures=True)

    async def look(self, tenant: TenantId, piece: LogSegment, search: LogSearch) -> Found:
        """Return the first matching lines of a segment. Deleted lines are skipped; at least one line is scanned."""
        found = Found(search, piece.after)
        if piece.stored is not None:
            await self._look_object(piece.stored, found)
        else:
            await self._look_chunks(tenant, piece.log, found)
        return found

    async def _look_object(self, stored: StoredObject, found: Found) -> bool:
        """Return whether the search is done."""
        most_bytes = SEARCHED_BYTES if found.search.matcher.is_choosy else PAGE_BYTES
        with suppress(NotFound):
            async for part in read_parts(self._objects, stored, found.upto, most_bytes):
                if await self._do(found, lambda: _look_part(part, found)):  # noqa: B023 - run at once
                    return True
        found.upto = stored.following - 1
        return False

    async def _look_chunks(self, tenant: TenantId, log: TrialLog, found: Found) -> None:
        search = found.search
        lines = LINES_PER_READ if search.matcher.is_choosy else max(search.most, 1_000)
        is_done = False
        while not is_done and found.upto < log.next - 1:
            async with self._units.tenant(tenant) as unit:
                chunks = await logs.load_chunks(unit.connection, log.trial, found.upto, lines)
            if not chunks or chunks[0].first > found.upto + 1:
                before = chunks[0].first if chunks else log.next
                is_done = await self._look_between(tenant, log.trial, before, found)
            else:
                is_done = await self._do(found, lambda: _look_chunks(chunks, found))  # noqa: B023 - run at once

    async def _look_between(self, tenant: TenantId, trial: UUID, before: int, found: Found) -> bool:
        """Scan lines that are no longer in chunks: packed since the plan, or deleted."""
        async with self._units.tenant(tenant) as unit:
            known = await log_objects.load_logs(unit.connection, {trial: found.upto}, found.search.matcher)
        for stored in (one for log in known for one in log.objects if one.first < before):
            if await self._look_object(stored, found):
                return True
        found.upto = max(found.upto, before - 1)
        return found.is_done

    async def run(self, call: Callable[[], Result]) -> Result:
        """Run CPU-bound work in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _do(self, found: Found, call: Callable[[], Result]) -> Result:
        threads = self._threads if found.search.matcher.is_choosy else self._reading
        return await asyncio.get_running_loop().run_in_executor(threads, call)


async def in_order(
    works: AsyncIterator[Work], do: Callable[[Work], "asyncio.Future[Result]"], ahead: int = AHEAD
) -> AsyncIterator[tuple[Work, Result]]:
    """Yield works with their results, in order, with a few in progress at a time."""
    pending: deque[tuple[Work, asyncio.Future[Result]]] = deque()
    try:
        async for work in works:
            pending.append((work, do(work)))
            if len(pending) >= ahead:
                first, result = pending.popleft()
                yield first, await result
        while pending:
            first, result = pending.popleft()
            yield first, await result
    finally:
        await _cancel(future for _, future in pending)


def _look_part(part: ObjectPart, found: Found) -> bool:
    return found.look_through(part.first, part.texts(), cache(part.block))


def _look_chunks(chunks: Iterable[StoredChunk], found: Found) -> bool:
    """Scan consecutive chunks until the search is done; at least one."""
    for chunk in chunks:
        block = Block.of(chunk.first, chunk.run_number, chunk.rows())
        if found.look_through(chunk.first, block.texts, lambda: block):  # noqa: B023 - asked at once
            return True
    return False


async def _cancel(futures: Iterable["asyncio.Future[Result]"]) -> None:
    for future in futures:
        future.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await future

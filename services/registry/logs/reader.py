"""Lines of trials, looked through wherever they lie: in chunks of the database, and in objects (`object_parts`), several at a time and given out in order.

Decompressing and matching run in a few threads (both let the interpreter go on), and what is only read on, as a tail is, in one of its own:
it does not wait behind a pattern that looks through gigabytes. No transaction is open meanwhile.
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

from services.registry.logs.core.lines import Block, KeptLine, ObjectPart
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
"""So many pieces of a search are fetched and looked through at a time."""
LINES_PER_READ = 5_000
FOUND_BYTES = 300 * 1024
"""What a page holds; a piece that has found so much stops there."""
LINE_BYTES = 100
"""What a line in a reply takes beside its text."""

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class LogSearch:
    """What is looked for: about `most` lines at most. Where `is_over` comes true, looking stops at the next request's parts.

    Attributes:
        numbers_only: all wanted lines are found, and nothing is read of them but their numbers.
    """

    matcher: Matcher
    most: int
    is_over: Callable[[], bool]
    numbers_only: bool = False


@dataclass(slots=True)
class Found:
    """Wanted lines in order, or their numbers, and the number of the last line that was looked at for them."""

    search: LogSearch
    upto: int
    lines: list[KeptLine] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether it is enough for a page."""
        return len(self.lines) >= self.search.most or self.size >= FOUND_BYTES

    @property
    def is_done(self) -> bool:
        """Whether to stop with what was found."""
        return self.is_full or self.search.is_over()

    def look_through(self, first: int, texts: pa.StringArray, block: Callable[[], Block]) -> bool:
        """Take the wanted lines of these that follow what was looked at, numbered from `first` on; return whether to stop."""
        places = self.search.matcher.places(texts, block)
        places = places[places > self.upto - first]
        self.upto = first + len(texts) - 1
        if len(places):
            self._take(first, places, block)
        if self.is_full:
            self.upto = self.lines[-1].number
        return self.is_done

    def _take(self, first: int, places: np.ndarray, block: Callable[[], Block]) -> None:
        if self.search.numbers_only:
            self.numbers += (first + places).tolist()
            return
        lines = block().lines(places[: self.search.most - len(self.lines)])
        self.lines += lines
        self.size += sum(len(line.text) + LINE_BYTES for line in lines)


@dataclass(frozen=True, slots=True)
class LogSegment:
    """Lines of a trial behind a number, that are looked through at one go: those of an object, or (of none) all that are in chunks."""

    log: TrialLog
    after: int
    stored: StoredObject | None = None

    @property
    def first(self) -> int:
        """The number of the first line that is looked at."""
        return max(self.after + 1, self.stored.first if self.stored else 0)


def pieces_of(log: TrialLog, after: int) -> list[LogSegment]:
    """What is to be looked through of a trial's log, in order."""
    pieces = [LogSegment(log, after, one) for one in log.objects if one.following > after + 1]
    hot = max(after, log.packed - 1)
    return [*pieces, LogSegment(log, hot)] if hot < log.next - 1 else pieces


class LogReader:
    """Looks through logs."""

    def __init__(self, units: Units, objects: ObjectStore) -> None:
        self._units = units
        self._objects = objects
        self._threads = ThreadPoolExecutor(THREADS, "logs")
        self._reading = ThreadPoolExecutor(1, "log pages")

    async def close(self) -> None:
        """Let go of the threads."""
        for threads in (self._threads, self._reading):
            threads.shutdown(wait=False, cancel_futures=True)

    async def look(self, tenant: TenantId, piece: LogSegment, search: LogSearch) -> Found:
        """Return the first wanted lines of a piece. Lines that are gone are passed by; something is looked at in any case."""
        found = Found(search, piece.after)
        if piece.stored is not None:
            await self._look_object(piece.stored, found)
        else:
            await self._look_chunks(tenant, piece.log, found)
        return found

    async def _look_object(self, stored: StoredObject, found: Found) -> bool:
        """Whether the search is done."""
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
        """Lines that no chunk has any more: packed since the plan, or gone."""
        async with self._units.tenant(tenant) as unit:
            known = await log_objects.load_logs(unit.connection, {trial: found.upto}, found.search.matcher)
        for stored in (one for log in known for one in log.objects if one.first < before):
            if await self._look_object(stored, found):
                return True
        found.upto = max(found.upto, before - 1)
        return found.is_done

    async def run(self, call: Callable[[], Result]) -> Result:
        """Do what takes the processor in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _do(self, found: Found, call: Callable[[], Result]) -> Result:
        threads = self._threads if found.search.matcher.is_choosy else self._reading
        return await asyncio.get_running_loop().run_in_executor(threads, call)


async def in_order(
    works: AsyncIterator[Work], do: Callable[[Work], "asyncio.Future[Result]"], ahead: int = AHEAD
) -> AsyncIterator[tuple[Work, Result]]:
    """Yield works with their results, in order; a few of them are under way at a time."""
    under_way: deque[tuple[Work, asyncio.Future[Result]]] = deque()
    try:
        async for work in works:
            under_way.append((work, do(work)))
            if len(under_way) >= ahead:
                first, result = under_way.popleft()
                yield first, await result
        while under_way:
            first, result = under_way.popleft()
            yield first, await result
    finally:
        await _cancel(future for _, future in under_way)


def _look_part(part: ObjectPart, found: Found) -> bool:
    return found.look_through(part.first, part.texts(), cache(part.block))


def _look_chunks(chunks: Iterable[StoredChunk], found: Found) -> bool:
    """Look through chunks that follow each other until the search is done; through one at least."""
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

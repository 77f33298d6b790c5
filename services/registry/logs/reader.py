"""Lines of trials, looked through wherever they lie: in chunks of the database, and in objects (`contents`), several at a time and given out in order.

Decompressing and matching run in a few threads (both let the interpreter go on), and what is only read on, as a tail is, in one of its
own: it does not wait behind a pattern that looks through gigabytes. No transaction is open meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

import numpy as np

from services.registry.core.logs.lines import Block, KeptLine, Part
from services.registry.core.logs.matching import Matcher
from services.registry.logs.contents import LogContents
from services.registry.logs.shelf import LogShelf
from services.registry.store import log_objects, logs
from services.registry.store.log_objects import StoredObject, TrialLog
from services.registry.store.logs import StoredChunk
from shared.bus import Units
from shared.driver import Driver
from shared.ids import TenantId
from shared.objects import ObjectStore

THREADS = 2
AHEAD = 4
"""So many pieces of a search are fetched and looked through at a time."""
TOGETHER = 4
"""So many objects are one piece: of what a search finds one line in each, half the time was the way into a thread and back."""
LINES_PER_READ = 5_000
FOUND_BYTES = 300 * 1024
"""What a page holds; a piece that has found so much stops there."""
LINE_BYTES = 100
"""What a line in a reply takes beside its text."""

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(slots=True)
class Found:
    """Wanted lines in order, and the number of the last line that was looked at for them."""

    upto: int
    most: int
    lines: list[KeptLine] = field(default_factory=list)
    size: int = 0

    def take(self, first: int, places: np.ndarray, block: Callable[[], Block]) -> None:
        """Add those of a block's lines; `first` is the number of the block's first."""
        lines = block().lines(places[: self.most - len(self.lines)])
        self.lines += lines
        self.size += sum(len(line.text) + LINE_BYTES for line in lines)

    @property
    def is_full(self) -> bool:
        """Whether it is enough for a page."""
        return len(self.lines) >= self.most or self.size >= FOUND_BYTES


@dataclass(slots=True)
class FoundNumbers(Found):
    """The numbers of all wanted lines, in order; nothing else of them is read, so that none is one too many."""

    numbers: list[int] = field(default_factory=list)

    def take(self, first: int, places: np.ndarray, block: Callable[[], Block]) -> None:
        """Add the numbers of those lines."""
        self.numbers += (first + places).tolist()


Finds_co = TypeVar("Finds_co", bound=Found, covariant=True)


@dataclass(frozen=True, slots=True)
class Search(Generic[Finds_co]):
    """What is looked for: about `most` lines at most. Where `is_over` comes true, looking stops at the next part, of about 1 MiB."""

    matcher: Matcher
    most: int
    is_over: Callable[[], bool]
    finds: type[Finds_co]

    def begin(self, upto: int) -> Finds_co:
        """Nothing yet of what is looked for."""
        return self.finds(upto, self.most)

    def is_done(self, found: Found) -> bool:
        """Whether to stop with what was found."""
        return found.is_full or self.is_over()


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines of a trial behind a number, that are looked through at one go: those of some objects, or (of none) all that are in chunks."""

    log: TrialLog
    after: int
    objects: tuple[StoredObject, ...] = ()

    @property
    def first(self) -> int:
        """The number of the first line that is looked at."""
        return max(self.after + 1, self.objects[0].first if self.objects else 0)


def pieces_of(log: TrialLog, after: int, together: int = TOGETHER) -> list[Piece]:
    """What is to be looked through of a trial's log, in order."""
    objects = [one for one in log.objects if one.following > after + 1]
    pieces = [
        Piece(log, after, tuple(objects[begin : begin + together]))
        for begin in range(0, len(objects), together)
    ]
    hot = max(after, log.packed - 1)
    return [*pieces, Piece(log, hot)] if hot < log.next - 1 else pieces


class LogReader:
    """Looks through logs."""

    def __init__(self, units: Units, objects: ObjectStore, shelf: LogShelf) -> None:
        self._units = units
        self._contents = LogContents(objects, shelf)
        self._threads = ThreadPoolExecutor(THREADS, "logs")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="log pages")

    async def close(self) -> None:
        """Let go of the threads."""
        for threads in (self._threads, self._reading):
            threads.shutdown(wait=False, cancel_futures=True)

    async def look(self, tenant: TenantId, piece: Piece, search: Search[Finds_co]) -> Finds_co:
        """Return the first wanted lines of a piece. Lines that are gone are passed by; something is looked at in any case."""
        found = search.begin(piece.after)
        if piece.objects:
            await self._look_objects(piece.objects, piece.after, search, found)
        else:
            await self._look_chunks(tenant, piece, search, found)
        return found

    async def _look_objects(
        self, objects: Sequence[StoredObject], after: int, search: Search[Found], found: Found
    ) -> bool:
        """Whether the search is done."""
        left = deque(objects)
        while left:
            if self._contents.has_copy(left[0]) and await self._do(
                search, lambda: self._look_copies(left, after, search, found)
            ):
                return True
            if left and await self._look_stored(left.popleft(), after, search, found):
                return True
        return False

    def _look_copies(
        self, left: deque[StoredObject], after: int, search: Search[Found], found: Found
    ) -> bool:
        """In one of the threads: take the objects that have copies, up to the first that has none."""
        while left and (parts := self._contents.copies(left[0], after)) is not None:
            if search_parts(left.popleft(), parts, after, search, found):
                return True
        return False

    async def _look_stored(
        self, stored: StoredObject, after: int, search: Search[Found], found: Found
    ) -> bool:
        found.upto = stored.following - 1
        async for parts in self._contents.read(stored, after, search.matcher.is_choosy):
            if await self._do(search, lambda: search_parts(stored, parts, after, search, found)):  # noqa: B023 - run at once
                return True
        return False

    async def _look_chunks(self, tenant: TenantId, piece: Piece, search: Search[Found], found: Found) -> None:
        lines = LINES_PER_READ if search.matcher.is_choosy else max(search.most, 1_000)
        while found.upto < piece.log.next - 1:
            async with self._units.tenant(tenant) as unit:
                chunks = await logs.load_chunks(
                    Driver.of(unit.connection), piece.log.trial, found.upto, lines
                )
            if not chunks or chunks[0].first > found.upto + 1:
                before = chunks[0].first if chunks else piece.log.next
                await self._look_between(tenant, piece.log.trial, before, search, found)
            else:
                await self._do(search, lambda: search_chunks(chunks, search, found))  # noqa: B023 - run at once
            if search.is_done(found):
                return

    async def _look_between(
        self, tenant: TenantId, trial: UUID, before: int, search: Search[Found], found: Found
    ) -> None:
        """Lines that no chunk has any more: packed since the plan, or gone."""
        async with self._units.tenant(tenant) as unit:
            known = await log_objects.load_logs(
                Driver.of(unit.connection), {trial: found.upto}, search.matcher
            )
        packed = [stored for log in known for stored in log.objects if stored.first < before]
        if not await self._look_objects(packed, found.upto, search, found):
            found.upto = max(found.upto, before - 1)

    async def run(self, call: Callable[[], Result]) -> Result:
        """Do what takes the processor in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _do(self, search: Search[Finds_co], call: Callable[[], Result]) -> Result:
        threads = self._threads if search.matcher.is_choosy else self._reading
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


def search_parts(
    stored: StoredObject, parts: Sequence[Part], after: int, search: Search[Found], found: Found
) -> bool:
    """Look through an object's parts until the search is done; through one at least. Returns whether it is done."""
    found.upto = stored.following - 1
    for part in parts:
        texts, whole = part.read(at_once=bool(search.matcher.hashes))
        places = search.matcher.places(texts, whole)
        places = places[places > after - part.first]
        if len(places):
            found.take(part.first, places, whole)
        if search.is_done(found):
            last = min(part.first + len(texts), stored.following) - 1
            found.upto = found.lines[-1].number if found.is_full else last
            return True
    return False


def search_chunks(chunks: Iterable[StoredChunk], search: Search[Found], found: Found) -> None:
    """Look through chunks that follow what was looked through before, until that is done; through one chunk at least."""
    for chunk in chunks:
        block = Block.of(chunk.first, chunk.run_number, chunk.rows())
        places = search.matcher.places(block.texts, lambda: block)  # noqa: B023 - asked at once
        found.take(chunk.first, places[places > found.upto - chunk.first], lambda: block)  # noqa: B023 - asked at once
        found.upto = chunk.following - 1
        if search.is_done(found):
            if found.is_full:
                found.upto = found.lines[-1].number
            return


async def _cancel(futures: Iterable["asyncio.Future[Result]"]) -> None:
    for future in futures:
        future.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await future

"""What is fetched of objects with log lines: those parts alone that are looked through, and once; and who waits for whom."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.registry.core.logs.grams import Grams, asked_hashes
from services.registry.core.logs.lines import Block, Packed, Row, pack
from services.registry.core.logs.matching import Matcher, Wanted
from services.registry.links import log_key
from services.registry.logs.contents import PAGE_BYTES, LogContents
from services.registry.logs.reader import THREADS, Found, LogReader, Piece, Search
from services.registry.logs.shelf import LogShelf
from services.registry.store.log_objects import StoredObject, TrialLog
from shared.clock import SystemClock
from shared.ids import TenantId
from shared.objects.directory import DirectoryObjects

LINES, NEEDLE = 40_000, 30_123
TENANT, TRIAL = UUID(int=2), UUID(int=3)


class Counting(DirectoryObjects):
    """A store that says what was fetched."""

    fetched: list[int]

    async def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        self.fetched.append(0)
        async for piece in super().get(key, first, most):
            self.fetched[-1] += len(piece)
            yield piece


@pytest.fixture
def store(tmp_path: Path) -> Counting:
    made = Counting(tmp_path, SystemClock())
    made.fetched = []
    return made


@pytest.fixture(scope="module")
def packed() -> Packed:
    rows: list[Row] = [
        (0, "stdout", None, number, f"step {number} took {number * 7919 % 10007} ms " + "." * 150)
        for number in range(LINES)
    ]
    rows[NEEDLE] = (0, "stderr", None, 1, "shard-04711.tar was read")
    return pack([Block.of(1, 1, rows)])


async def _stored(store: Counting, packed: Packed, text: str = "", *, is_old: bool = False) -> StoredObject:
    stored = StoredObject(
        UUID(int=1),
        TENANT,
        TRIAL,
        1,
        LINES,
        _slices(packed.grams, text),
        packed.grams.slices,
        None if is_old else packed.layout,
    )
    await store.put(log_key(TENANT, TRIAL, stored.id), packed.content)
    return stored


def _slices(grams: Grams, text: str) -> int | None:
    return grams.slices_with(asked_hashes(text)) if text else None


async def _texts(
    contents: LogContents, stored: StoredObject, after: int = 0, choosy: bool = True
) -> list[str]:
    return [
        text
        async for parts in contents.read(stored, after, choosy)
        for part in parts
        for text in part.texts().to_pylist()
    ]


def _copied(contents: LogContents, stored: StoredObject, after: int = 0) -> list[str]:
    parts = contents.copies(stored, after)
    assert parts is not None
    return [text for part in parts for text in part.texts().to_pylist()]


@pytest.mark.parametrize("is_old", [False, True], ids=["parts", "made before"])
async def test_all_is_read_that_may_hold_it(store: Counting, packed: Packed, is_old: bool) -> None:
    contents = LogContents(store, LogShelf(None, 0))
    stored = await _stored(store, packed, "shard-04711.tar", is_old=is_old)
    assert "shard-04711.tar was read" in await _texts(contents, stored)
    whole = await _texts(contents, await _stored(store, packed, is_old=is_old))
    assert [len(whole), whole[7].split(".")[0]] == [LINES, "step 7 took 5398 ms "]


async def test_of_an_object_the_parts_are_fetched_that_may_hold_it_and_once(
    store: Counting, packed: Packed
) -> None:
    contents, stored = LogContents(store, LogShelf(None, 0)), await _stored(store, packed, "shard-04711.tar")
    for _ in range(2):
        assert "shard-04711.tar was read" in await _texts(contents, stored)
        assert store.fetched == [packed.layout.size_bytes(NEEDLE // packed.layout.part_lines)]
    assert sum(store.fetched) < len(packed.content) / 25


async def test_all_comes_at_once_where_something_is_looked_for_and_page_by_page_where_all_is_wanted(
    store: Counting, packed: Packed
) -> None:
    stored = await _stored(store, packed)
    await _texts(LogContents(store, LogShelf(None, 0)), stored)
    assert len(store.fetched) == 1
    store.fetched.clear()
    async for parts in LogContents(store, LogShelf(None, 0)).read(stored, LINES // 2, False):
        block = parts[0].block()
        assert block.first <= LINES // 2 + 1 < block.first + len(block)
        break
    assert [size <= PAGE_BYTES for size in store.fetched] == [True]


async def test_an_object_that_is_gone_has_nothing(store: Counting, packed: Packed) -> None:
    stored = await _stored(store, packed)
    await store.delete(log_key(TENANT, TRIAL, stored.id))
    assert await _texts(LogContents(store, LogShelf(None, 0)), stored) == []


async def test_what_lies_on_this_machines_disk_is_not_fetched(
    store: Counting, packed: Packed, tmp_path: Path
) -> None:
    shelf = LogShelf(tmp_path / "shelf", 10_000_000)
    contents = LogContents(store, shelf)
    some, whole = await _stored(store, packed, "shard-04711.tar"), await _stored(store, packed)
    fetched = [await _texts(contents, stored) for stored in (some, whole)]
    store.fetched.clear()
    for stored in (some, whole):
        shelf.keep(stored.id, packed.content)
    assert [_copied(contents, stored) for stored in (some, whole)] == fetched
    assert _copied(contents, whole, LINES - 3)[-3:] == fetched[1][-3:]
    assert store.fetched == []


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"cut short"), Path.unlink])
async def test_a_copy_that_cannot_be_read_is_none(
    store: Counting, packed: Packed, tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    folder = tmp_path / "shelf"
    shelf = LogShelf(folder, 10_000_000)
    stored = await _stored(store, packed)
    shelf.keep(stored.id, packed.content)
    harm(folder / str(stored.id))
    contents = LogContents(store, shelf)
    assert contents.has_copy(stored) and contents.copies(stored, 0) is None
    assert not contents.has_copy(stored)
    assert shelf.known() == [] and list(folder.iterdir()) == []


def test_what_nobody_has_read_for_longest_makes_room_and_the_rest_outlives_the_process(
    tmp_path: Path,
) -> None:
    shelf, names = LogShelf(tmp_path, 250), [uuid4() for _ in range(4)]
    for name in names[:2]:
        shelf.keep(name, name.bytes * 6)
    assert shelf.read(names[0], [(0, 16)]) == [names[0].bytes]
    shelf.keep(names[2], b"x" * 96)
    shelf.keep(names[3], b"x" * 251)
    assert shelf.known() == [names[0], names[2]], (
        "the one that was read stayed, and what is too large never came"
    )
    (tmp_path / f"{names[3]}.new").write_bytes(b"half")
    later = LogShelf(tmp_path, 250)
    assert set(later.known()) == {names[0], names[2]}
    assert len(list(tmp_path.iterdir())) == 2
    later.forget(names)
    assert list(tmp_path.iterdir()) == []


async def test_who_reads_on_does_not_wait_for_those_who_search(store: Counting, packed: Packed) -> None:
    no_database: Any = None
    reader, stored = LogReader(no_database, store, LogShelf(None, 0)), await _stored(store, packed)
    is_found = threading.Event()
    searches = [asyncio.ensure_future(reader.run(is_found.wait)) for _ in range(2 * THREADS)]
    await asyncio.sleep(0)
    piece = Piece(TrialLog(TRIAL, LINES + 1, LINES + 1, (stored,)), 0, (stored,))
    try:
        async with asyncio.timeout(20):
            page = await reader.look(
                TenantId(TENANT), piece, Search(Matcher(Wanted()), 10, lambda: False, Found)
            )
    finally:
        is_found.set()
        await asyncio.gather(*searches)
        await reader.close()
    assert [line.number for line in page.lines] == list(range(1, 11))

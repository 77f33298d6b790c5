"""What is fetched of objects with log lines: those parts alone that are looked through; and who waits for whom."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from services.registry.logs.core.line_columns import Block, Packed, Row, pack
from services.registry.logs.core.matching import LineQuery, Matcher
from services.registry.logs.object_parts import PAGE_BYTES, SEARCHED_BYTES, read_parts
from services.registry.logs.reader import THREADS, LogReader, LogSearch, LogSegment
from services.registry.logs.store.objects import StoredObject, TrialLog
from services.registry.storage.links import log_key
from shared.clock import SystemClock
from shared.errors import NotFound
from shared.ids import TenantId
from shared.objects.directory import DirectoryObjects
from tests.unit.registry.test_logs import slices_of_text

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
        slices_of_text(packed.grams, text) if text else None,
        packed.grams.slices,
        None if is_old else packed.layout,
    )
    await store.put(log_key(TENANT, TRIAL, stored.id), packed.content)
    return stored


async def _texts(store: Counting, stored: StoredObject) -> list[str]:
    return [
        text
        async for part in read_parts(store, stored, 0, SEARCHED_BYTES)
        for text in part.texts().to_pylist()
    ]


@pytest.mark.parametrize("is_old", [False, True], ids=["parts", "made before"])
async def test_all_is_read_that_may_hold_it(store: Counting, packed: Packed, is_old: bool) -> None:
    stored = await _stored(store, packed, "shard-04711.tar", is_old=is_old)
    assert "shard-04711.tar was read" in await _texts(store, stored)
    whole = await _texts(store, await _stored(store, packed, is_old=is_old))
    assert [len(whole), whole[7].split(".")[0]] == [LINES, "step 7 took 5398 ms "]


async def test_of_an_object_the_parts_are_fetched_that_may_hold_it(store: Counting, packed: Packed) -> None:
    stored = await _stored(store, packed, "shard-04711.tar")
    assert "shard-04711.tar was read" in await _texts(store, stored)
    assert store.fetched == [packed.layout.size_bytes(NEEDLE // packed.layout.part_lines)]
    assert sum(store.fetched) < len(packed.content) / 25


async def test_neighbours_come_together_and_a_page_at_a_time_where_all_is_wanted(
    store: Counting, packed: Packed
) -> None:
    stored = await _stored(store, packed)
    await _texts(store, stored)
    assert len(store.fetched) < len(packed.layout) / 4
    store.fetched.clear()
    async for part in read_parts(store, stored, LINES // 2, PAGE_BYTES):
        block = part.block()
        assert block.first <= LINES // 2 + 1 < block.first + len(block)
        break
    assert [size <= PAGE_BYTES for size in store.fetched] == [True]


async def test_an_object_that_is_gone_is_not_found(store: Counting, packed: Packed) -> None:
    stored = await _stored(store, packed)
    await store.delete(log_key(TENANT, TRIAL, stored.id))
    with pytest.raises(NotFound):
        await _texts(store, stored)


async def test_who_reads_on_does_not_wait_for_those_who_search(store: Counting, packed: Packed) -> None:
    no_database: Any = None
    reader, stored = LogReader(no_database, store), await _stored(store, packed)
    is_found = threading.Event()
    searches = [asyncio.ensure_future(reader.run(is_found.wait)) for _ in range(2 * THREADS)]
    await asyncio.sleep(0)
    piece = LogSegment(TrialLog(TRIAL, LINES + 1, LINES + 1, (stored,)), 0, stored)
    try:
        async with asyncio.timeout(20):
            page = await reader.look(
                TenantId(TENANT), piece, LogSearch(Matcher(LineQuery()), 10, lambda: False)
            )
    finally:
        is_found.set()
        await asyncio.gather(*searches)
        await reader.close()
    assert [line.number for line in page.lines] == list(range(1, 11))

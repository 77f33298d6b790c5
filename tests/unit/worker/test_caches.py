"""What a machine keeps of code and checkpoints, and how it fetches what it has not."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from shared.ids import CheckpointId, RunId
from shared.messages.checkpoints import Restored
from shared.messages.files import FileEntry, FileLink
from worker.transfer.cache import FileCache
from worker.transfer.cache_space import CacheSpace
from worker.transfer.checkpoints.restore import Latest, Restorer
from worker.transfer.http import FILES_AT_ONCE

TENANT, OTHER = UUID(int=1), UUID(int=2)
RUN, CHECKPOINT = RunId(UUID(int=3)), CheckpointId(UUID(int=4))


def _entry(content: bytes, name: str = "state") -> FileEntry:
    return FileEntry(path=name, size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


@pytest.fixture
def open_cache(tmp_path: Path) -> Callable[[int], FileCache]:
    """The cache as a daemon opens it, with room for so many bytes; opened again, what a restarted one finds."""
    folder = tmp_path / "cache"
    return lambda limit: FileCache(folder / "checkpoints", CacheSpace(folder, limit))


def _keep(cache: FileCache, tmp_path: Path, content: bytes, tenant: UUID = TENANT) -> FileEntry:
    source = tmp_path / "made"
    source.write_bytes(content)
    cache.copy_in(tenant, _entry(content), source)
    return _entry(content)


def _has(cache: FileCache, tmp_path: Path, entry: FileEntry, tenant: UUID = TENANT) -> bool:
    target = tmp_path / "taken"
    is_here = cache.take(tenant, entry, target)
    assert not is_here or hashlib.sha256(target.read_bytes()).hexdigest() == entry.sha256
    return is_here


def test_what_an_earlier_daemon_was_fetching_goes(tmp_path: Path) -> None:
    unfinished = tmp_path / "code" / "fetch-x" / "content"
    kept = tmp_path / "code" / str(TENANT) / "hash"
    for folder in (unfinished, kept):
        folder.mkdir(parents=True)
        (folder / "train.py").write_text("print()")
    CacheSpace(tmp_path, 1 << 20)
    assert (kept / "train.py").exists() and not unfinished.parent.exists()


def test_what_was_not_used_for_longest_goes_when_room_is_needed(
    open_cache: Callable[[int], FileCache], tmp_path: Path
) -> None:
    cache = open_cache(100)
    first, second = _keep(cache, tmp_path, b"1" * 40), _keep(cache, tmp_path, b"2" * 40)
    assert _has(cache, tmp_path, first)
    third = _keep(cache, tmp_path, b"3" * 40)
    assert [_has(cache, tmp_path, one) for one in (first, second, third)] == [True, False, True]
    too_large = _keep(cache, tmp_path, b"4" * 101)
    assert [_has(cache, tmp_path, one) for one in (first, third, too_large)] == [True, True, False]


def test_a_restarted_daemon_knows_what_was_used_last_and_obeys_a_lower_limit(
    open_cache: Callable[[int], FileCache], tmp_path: Path
) -> None:
    cache = open_cache(100)
    entries = [_keep(cache, tmp_path, bytes([number]) * 40) for number in (1, 2)]
    for path in (tmp_path / "cache").rglob("*"):
        os.utime(path, (path.name == entries[0].sha256,) * 2)
    again = open_cache(50)
    assert [_has(again, tmp_path, one) for one in entries] == [True, False]


def test_what_a_run_copies_stays_until_it_has_it(tmp_path: Path) -> None:
    code = tmp_path / "code" / str(TENANT) / "hash"
    space = CacheSpace(tmp_path, 10 * 2**20)
    assert space.admit(code, 2**20)
    code.mkdir()
    with space.holding(code) as is_here:
        assert is_here
        large = tmp_path / "checkpoints" / str(TENANT) / "large"
        assert not space.admit(large, 10 * 2**20)
        assert space.admit(large, 9 * 2**20)
        assert space.admit(large.with_name("another"), 9 * 2**20)
        assert code.is_dir(), "the newer one went"
    assert space.admit(large.with_name("larger"), 10 * 2**20)
    assert not code.exists()


def test_a_tenants_files_are_its_own_and_a_changed_one_is_none(
    open_cache: Callable[[int], FileCache], tmp_path: Path
) -> None:
    cache = open_cache(100)
    entry = _keep(cache, tmp_path, b"state")
    assert not _has(cache, tmp_path, entry, OTHER)
    (tmp_path / "cache/checkpoints" / str(TENANT) / entry.sha256).write_bytes(b"other")
    assert not _has(cache, tmp_path, entry)
    assert _has(cache, tmp_path, _keep(cache, tmp_path, b"state"))


class FakeStore:
    """Gives files when as many are asked for at once as may be, so that less would wait for ever; counts them."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.full = asyncio.Event()

    async def get(self, url: str, target: Path, sha256: str, size_bytes: int) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == FILES_AT_ONCE:
            self.full.set()
        await asyncio.wait_for(self.full.wait(), 20)
        await asyncio.sleep(0)
        target.write_bytes(url.encode())
        self.now -= 1


class FakeRegistry:
    """Names one checkpoint."""

    def __init__(self, files: tuple[FileLink, ...]) -> None:
        self.answer = Restored(checkpoint_id=CHECKPOINT, step=7, files=files)

    async def request(self, request: object, timeout_s: float = 5.0) -> Restored:
        return self.answer


async def test_files_of_a_checkpoint_come_several_at_once_and_no_more(
    open_cache: Callable[[int], FileCache], tmp_path: Path
) -> None:
    links = tuple(
        FileLink(**_entry(f"url-{number}".encode(), f"part-{number}/state").model_dump(), url=f"url-{number}")
        for number in range(3 * FILES_AT_ONCE)
    )
    store = FakeStore()
    restorer = Restorer(open_cache(10**6), cast(Any, FakeRegistry(links)), cast(Any, store))
    target = tmp_path / "latest"
    assert await restorer.restore(RUN, TENANT, target, is_gang=False, log=lambda text: None) == Latest(target)
    assert store.most == FILES_AT_ONCE
    found = {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("state")}
    assert found == {link.path: link.url for link in links}

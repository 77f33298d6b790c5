"""What is kept of an upload: verified copies, out of reach of whoever may still write to its place."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest

from services.registry.checkpoints.cleanup import INCOMING_FOR, sweep_incoming
from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.checkpoints.verifier import CARRIED_BYTES, Verifier
from services.registry.core.checkpoint import CheckpointStatus
from services.registry.storage.links import INCOMING, plan_parts
from services.registry.storage.store.files import File
from shared.clock import SystemClock
from shared.objects import read_all
from shared.objects.directory import DirectoryObjects

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PART_BYTES = 2 * CARRIED_BYTES
SMALL, LARGE = b"small", b"L" * (CARRIED_BYTES + 1)
CHECKPOINT = CheckpointRow(
    UUID(int=1), UUID(int=2), UUID(int=3), UUID(int=4), UUID(int=5), 1, 1, 1, 10, CheckpointStatus.committing,
    3, 0, 1, 1, (), {}, None, NOW, NOW,
)  # fmt: skip


class Hostile(DirectoryObjects):
    """Its uploads change as soon as they have been looked at."""

    async def get(self, key: str, first: int = 0, most: int | None = None) -> AsyncIterator[bytes]:
        async for piece in super().get(key, first, most):
            yield piece
        await self.rewrite(key)

    async def copy(self, source: str, target: str) -> None:
        await super().copy(source, target)
        await self.rewrite(source)

    async def rewrite(self, key: str) -> None:
        if key.startswith(INCOMING):
            sent = await self.stat(key)
            await self.put(key, b"E" * (sent.size_bytes if sent else 0))


def file(content: bytes) -> File:
    return File("a.bin", "w-1", f"{INCOMING}t/a", len(content), hashlib.sha256(content).hexdigest())


async def keys(objects: DirectoryObjects) -> list[str]:
    return [found.key async for found in objects.list("")]


@pytest.mark.parametrize("content", [SMALL, LARGE, b""])
async def test_what_is_kept_is_what_was_judged(content: bytes, tmp_path: Path) -> None:
    objects = Hostile(tmp_path, SystemClock())
    sent = file(content)
    await objects.put(sent.key, content)
    taken = await Verifier(objects, SystemClock(), None, PART_BYTES).take(CHECKPOINT, [sent], 5)
    (kept,) = taken.files
    assert taken.mismatch is None and not kept.key.startswith(INCOMING)
    assert kept == replace(sent, key=kept.key)
    assert await read_all(objects, kept.key, len(content)) == content


@pytest.mark.parametrize("content", [SMALL, LARGE])
@pytest.mark.parametrize("wrong", [b"", b"x", b"longer than was said" * 20_000, None])
async def test_what_does_not_fit_leaves_no_copy(content: bytes, wrong: bytes | None, tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, SystemClock())
    sent = file(content)
    if wrong is not None:
        await objects.put(sent.key, wrong)
    verifier = Verifier(objects, SystemClock(), None, PART_BYTES)
    taken = await verifier.take(CHECKPOINT, [sent], 5)
    await verifier.close()
    assert taken.files == () and (taken.mismatch or "").startswith("a.bin: ")
    assert await keys(objects) == ([] if wrong is None else [sent.key])


@pytest.mark.parametrize("stored", [None, SMALL + b"!", SMALL[:-1], b""])
async def test_a_known_file_counts_only_while_the_store_has_it_in_its_size(
    stored: bytes | None, tmp_path: Path
) -> None:
    """It was verified for another checkpoint, so that it was not sent again."""
    objects = DirectoryObjects(tmp_path, SystemClock())
    known = replace(file(SMALL), path="known.bin", key=f"checkpoints/{UUID(int=9)}/a")
    sent = file(LARGE)
    await objects.put(sent.key, LARGE)
    if stored is not None:
        await objects.put(known.key, stored)
    verifier = Verifier(objects, SystemClock(), None, PART_BYTES)
    taken = await verifier.take(CHECKPOINT, [known, sent], 5)
    assert taken.files == () and taken.lost == (known.key,)
    assert taken.mismatch == "known.bin: its stored object is missing or has another size"
    await objects.put(known.key, SMALL)
    again = await verifier.take(replace(CHECKPOINT, version=2), [known, sent], 5)
    assert again.mismatch is None and again.lost == ()
    await verifier.close()


async def test_what_came_in_parts_is_joined_in_their_order_and_judged_whole(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, SystemClock())
    content = bytes(range(250)) * (PART_BYTES * 5 // 2 // 250) + b"the end, which is shorter"
    sent = file(content)
    parts = plan_parts(sent.key, sent.size_bytes, PART_BYTES)
    assert [part.size_bytes for part in parts][:2] == [PART_BYTES, PART_BYTES] and len(parts) > 2
    verifier = Verifier(objects, SystemClock(), None, PART_BYTES)
    for part in parts[1:]:
        await objects.put(part.key, content[part.first :][: part.size_bytes])
    assert (await verifier.take(CHECKPOINT, [sent], 5)).mismatch, "the first is missing"
    first = parts[0]
    for there, fits in ((b"x" * first.size_bytes, False), (content[: first.size_bytes], True)):
        await objects.put(first.key, there)
        taken = await verifier.take(CHECKPOINT, [sent], 5)
        assert (taken.mismatch is None) == fits
    (kept,) = taken.files
    assert await read_all(objects, kept.key, len(content)) == content
    verifier.drop_upload([sent, kept], {kept.key})
    await verifier.close()
    assert await keys(objects) == [kept.key]


async def test_what_a_worker_sends_whole_that_knows_of_no_parts_is_kept(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, SystemClock())
    content = b"W" * (PART_BYTES + 1)
    sent = file(content)
    await objects.put(sent.key, content)
    verifier = Verifier(objects, SystemClock(), None, PART_BYTES)
    taken = await verifier.take(CHECKPOINT, [sent], 5)
    (kept,) = taken.files
    assert await read_all(objects, kept.key, len(content)) == content
    verifier.drop_upload([sent, kept], {kept.key})
    await verifier.close()
    assert await keys(objects) == [kept.key]


async def test_two_attempts_never_write_to_one_place(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, SystemClock())
    sent = file(SMALL)
    await objects.put(sent.key, SMALL)
    first, second = [
        await Verifier(objects, SystemClock(), None, PART_BYTES).take(CHECKPOINT, [sent], 5) for _ in range(2)
    ]
    assert first.files[0].key != second.files[0].key


async def test_the_sweep_takes_old_uploads_and_nothing_else(tmp_path: Path) -> None:
    objects = DirectoryObjects(tmp_path, SystemClock())
    for key in (f"{INCOMING}t/old", "tenants/t/checkpoints/c/kept"):
        await objects.put(key, b"x")
    await sweep_incoming(objects, SystemClock().now() + INCOMING_FOR - timedelta(minutes=1))
    assert len(await keys(objects)) == 2
    await sweep_incoming(objects, SystemClock().now() + INCOMING_FOR + timedelta(minutes=1))
    assert await keys(objects) == ["tenants/t/checkpoints/c/kept"]

"""Verifies uploads. Objects that the store verified on receipt stay in place; all others are copied and read back.

For the latter, only the copy is verified and kept: a client with a valid URL may overwrite the upload at any time. A long verification outlives
its request: the next request gets its result.
"""

import asyncio
import hashlib
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

import structlog

from services.registry.checkpoints.store.checkpoints import CheckpointRow
from services.registry.core.checkpoint import describe_mismatch
from services.registry.storage.links import is_awaited, is_upload, kept_key, plan_parts
from services.registry.storage.store.files import File
from shared.clock import Clock
from shared.errors import MusterError, NotFound, Rejected, Transient
from shared.ids import new_id
from shared.objects import Digest, ObjectStore, read_all

AT_ONCE = 4
CARRIED_BYTES = 256 * 1024
"""Up to this size, reading and writing is faster than a server-side copy and reading that (measured)."""
UNCLAIMED_S = 60.0
"""How long a result waits for the repeated request; another replica may have answered that."""
_log = structlog.get_logger()

Attempt = tuple[UUID, int]
"""A checkpoint and the version of its row, which identifies the manifest."""


@dataclass(frozen=True, slots=True)
class VerifiedUpload:
    """Files to keep of an upload; none if it does not match the manifest, with the reason in `mismatch`.

    `lost`: keys of objects that the tenant was assumed to store and that are missing.
    """

    files: tuple[File, ...]
    mismatch: str | None = None
    lost: tuple[str, ...] = ()


class Verifier:
    """Copies and verifies uploads, each content once at a time.

    Args:
        hash_up_to_bytes: Larger files are verified by size only; None reads all of them.
        part_bytes: Larger files are uploaded in parts of this size.
    """

    def __init__(
        self, objects: ObjectStore, clock: Clock, hash_up_to_bytes: int | None, part_bytes: int
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._hash_up_to_bytes = hash_up_to_bytes
        self._part_bytes = part_bytes
        self._free = asyncio.Semaphore(AT_ONCE)
        self._running: dict[Attempt, asyncio.Task[VerifiedUpload]] = {}
        self._reading: dict[str, asyncio.Task[Digest | None]] = {}
        self._dropping: set[asyncio.Task[None]] = set()

    async def take(self, checkpoint: CheckpointRow, files: Sequence[File], wait_s: float) -> VerifiedUpload:
        """Return the verified uploads, under keys that no other checkpoint uses.

        Args:
            checkpoint: A changed version is verified again.
            wait_s: Raises `Transient` after this time while verification continues.
        """
        key = checkpoint.id, checkpoint.version
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._take(checkpoint, files))
            self._running[key] = task
            task.add_done_callback(partial(self._await_claim, key))
        done, _ = await asyncio.wait({task}, timeout=wait_s)
        if not done:
            raise Transient("the upload is being verified", retry_after_s=0.5)
        self._running.pop(key, None)
        return await task

    def is_taking(self, checkpoint: CheckpointRow) -> bool:
        """Return whether copies of this upload exist or are being made: `take` then makes no others."""
        return (checkpoint.id, checkpoint.version) in self._running

    def drop_upload(self, brought: Iterable[File], kept: Container[str]) -> None:
        """Delete uploads and copies, with their parts, that are not kept."""
        unused = [file for file in brought if file.key not in kept]
        self.drop({key for file in unused for key in (file.key, *self._parts(file))})

    def drop(self, keys: Iterable[str]) -> None:
        """Delete these objects in the background. Missed ones are deleted with their checkpoint, or as old uploads."""
        task = asyncio.create_task(self._delete(sorted(keys)))
        self._dropping.add(task)
        task.add_done_callback(self._dropping.discard)

    async def close(self) -> None:
        """Stop verifying; finish deletions."""
        for task in (*self._running.values(), *self._reading.values()):
            task.cancel()
        await asyncio.gather(*self._dropping, return_exceptions=True)

    async def _take(self, checkpoint: CheckpointRow, files: Sequence[File]) -> VerifiedUpload:
        attempt = new_id(self._clock)
        awaited = [file for file in files if is_awaited(checkpoint.tenant, checkpoint.id, file.key)]
        lost = await self._find_lost([file for file in files if file not in awaited])
        bound = tuple(file for file in awaited if not is_upload(file.key))
        sent = [file for file in awaited if is_upload(file.key)]
        copies = tuple(
            replace(file, key=kept_key(checkpoint.tenant, checkpoint.id, attempt, file)) for file in sent
        )
        reasons = await asyncio.gather(*map(self._stat, bound), *map(self._copy, sent, copies))
        mismatch = next((reason for reason in (*lost.values(), *reasons) if reason), None)
        if mismatch is not None:
            self.drop(copy.key for copy in copies)
            return VerifiedUpload((), mismatch, tuple(lost))
        return VerifiedUpload(bound + copies)

    async def _find_lost(self, known: Sequence[File]) -> dict[str, str]:
        """Return keys of files verified for another checkpoint that are missing now, each with the reason."""
        async with self._free:
            stats = await asyncio.gather(*[self._objects.stat(file.key) for file in known])
        return {
            file.key: f"{file.path}: its stored object is missing or has another size"
            for file, stat in zip(known, stats, strict=True)
            if stat is None or stat.size_bytes != file.size_bytes
        }

    async def _stat(self, file: File) -> str | None:
        """Check a file that the store verified on receipt."""
        async with self._free:
            stat = await self._objects.stat(file.key)
        if stat is None:
            return f"{file.path}: not in the store, which accepts only the announced content"
        return describe_mismatch(
            file.path, (file.size_bytes, file.sha256), (stat.size_bytes, stat.sha256 or "")
        )

    async def find_damage(self, file: File) -> str | None:
        """Read a stored file and return why it does not match; None if it does.

        A mismatch is read a second time: a store may return a truncated object as if it were complete.
        """
        return await self._read(file) and await self._read(file)

    async def _read(self, file: File) -> str | None:
        """Read a file; concurrent callers share one read."""
        reading = self._reading.get(file.key)
        if reading is None:
            reading = asyncio.create_task(self._objects.digest(file.key))
            self._reading[file.key] = reading
            reading.add_done_callback(lambda _: self._reading.pop(file.key, None))
        found = await asyncio.shield(reading)
        stored = (found.size_bytes, found.sha256) if found else None
        return describe_mismatch(file.path, (file.size_bytes, file.sha256), stored)

    async def _copy(self, file: File, copy: File) -> str | None:
        wanted = file.size_bytes, file.sha256
        move = self._carry if file.size_bytes <= CARRIED_BYTES else self._have_copied
        async with self._free:
            try:
                return describe_mismatch(file.path, wanted, await move(file, copy))
            except NotFound:
                return describe_mismatch(file.path, wanted, None)
            except Rejected:
                return f"{file.path}: more than {file.size_bytes} bytes in the store"

    def _parts(self, file: File) -> list[str]:
        return [part.key for part in plan_parts(file.key, file.size_bytes, self._part_bytes)]

    async def _carry(self, file: File, copy: File) -> tuple[int, str]:
        """Copy a small file through this process: what was read is what is kept."""
        content = await read_all(self._objects, file.key, file.size_bytes)
        await self._objects.put(copy.key, content)
        return len(content), hashlib.sha256(content).hexdigest()

    async def _have_copied(self, file: File, copy: File) -> tuple[int, str] | None:
        """Have the store copy a large file. The size is checked first, so that it never copies more than was announced."""
        sent, sizes = await self._find_sent(file)
        if len(sizes) < len(sent) or sum(sizes) != file.size_bytes:
            return (sum(sizes), file.sha256) if sizes else None
        await self._objects.join(sent, copy.key)
        if self._hash_up_to_bytes is not None and file.size_bytes > self._hash_up_to_bytes:
            stat = await self._objects.stat(copy.key)
            return (stat.size_bytes, file.sha256) if stat else None
        digest = await self._objects.digest(copy.key)
        return (digest.size_bytes, digest.sha256) if digest else None

    async def _find_sent(self, file: File) -> tuple[list[str], list[int]]:
        """Return the keys of an uploaded file and the sizes of the objects found: one object, or parts."""
        for keys in ([file.key], self._parts(file)):
            stats = [await self._objects.stat(key) for key in keys]
            sizes = [stat.size_bytes for stat in stats if stat is not None]
            if sizes:
                break
        return keys, sizes

    def _await_claim(self, key: Attempt, task: asyncio.Task[VerifiedUpload]) -> None:
        asyncio.get_running_loop().call_later(UNCLAIMED_S, self._drop_unclaimed, key, task)

    def _drop_unclaimed(self, key: Attempt, task: asyncio.Task[VerifiedUpload]) -> None:
        if self._running.get(key) is not task:
            return
        del self._running[key]
        if not task.cancelled() and task.exception() is None:
            self.drop(file.key for file in task.result().files)

    async def _delete(self, keys: Sequence[str]) -> None:
        try:
            await self._objects.delete_many(keys)
        except MusterError as error:
            _log.warning(
                "objects could not be deleted; the next sweep deletes them",
                objects=len(keys),
                error=str(error),
            )

"""Takes over what was uploaded: what the store has verified while it received it stays where it is, the rest is copied and read back.

Of the rest only the copy is judged and kept: whoever holds a URL for it may write to its place again, also while it is read.
A long reading outlives the request that asked for it: the next one finds its result.
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
"""Up to here reading and writing is quicker than a copy by the store and reading that. Measured."""
UNCLAIMED_S = 60.0
"""So long a result waits for the request that asks again; another replica may have answered it."""
_log = structlog.get_logger()

Attempt = tuple[UUID, int]
"""A checkpoint and the version of its row, which tells manifests apart."""


@dataclass(frozen=True, slots=True)
class VerifiedUpload:
    """What is to be kept of an upload, nothing when it is not what the manifest says: `mismatch` is the reason.

    `lost` names keys of what the tenant was said to have already, and is not there.
    """

    files: tuple[File, ...]
    mismatch: str | None = None
    lost: tuple[str, ...] = ()


class Verifier:
    """Copies and compares uploads, each content once at a time.

    Args:
        hash_up_to_bytes: larger files are compared by size alone; None reads all of them.
        part_bytes: larger files come in parts of this size.
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
        """Return what was uploaded, verified, under keys that no other checkpoint uses; of what was not sent, nothing.

        Args:
            checkpoint: one of another version is read anew.
            wait_s: raises `Transient` after it while the reading goes on.
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
        """Whether copies of this upload are being made or are there already: `take` then makes no others."""
        return (checkpoint.id, checkpoint.version) in self._running

    def drop_upload(self, brought: Iterable[File], kept: Container[str]) -> None:
        """Delete what was sent or copied, in parts or not, and is not what counts."""
        gone = [file for file in brought if file.key not in kept]
        self.drop({key for file in gone for key in (file.key, *self._parts(file))})

    def drop(self, keys: Iterable[str]) -> None:
        """Delete these objects by and by; what is missed goes with its checkpoint, or as an upload of yesterday."""
        task = asyncio.create_task(self._delete(sorted(keys)))
        self._dropping.add(task)
        task.add_done_callback(self._dropping.discard)

    async def close(self) -> None:
        """Stop reading; deletions are finished."""
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
        reasons = await asyncio.gather(*map(self._look, bound), *map(self._copy, sent, copies))
        mismatch = next((reason for reason in (*lost.values(), *reasons) if reason), None)
        if mismatch is not None:
            self.drop(copy.key for copy in copies)
            return VerifiedUpload((), mismatch, tuple(lost))
        return VerifiedUpload(bound + copies)

    async def _find_lost(self, known: Sequence[File]) -> dict[str, str]:
        """Keys of files that were verified for another checkpoint and are gone, each with the reason."""
        async with self._free:
            stats = await asyncio.gather(*[self._objects.stat(file.key) for file in known])
        return {
            file.key: f"{file.path}: what the store had of it is gone"
            for file, stat in zip(known, stats, strict=True)
            if stat is None or stat.size_bytes != file.size_bytes
        }

    async def _look(self, file: File) -> str | None:
        """The store has verified it, if it has taken it."""
        async with self._free:
            stat = await self._objects.stat(file.key)
        if stat is None:
            return f"{file.path}: not in the store, which takes only what was announced of it"
        return describe_mismatch(
            file.path, (file.size_bytes, file.sha256), (stat.size_bytes, stat.sha256 or "")
        )

    async def find_damage(self, file: File) -> str | None:
        """Read a stored file and return why it is not what it was; None when it is.

        What looks damaged is read a second time: a store may give out half of an object as if it were all.
        """
        return await self._read(file) and await self._read(file)

    async def _read(self, file: File) -> str | None:
        """Whoever asks meanwhile waits for the same reading."""
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
        """A small file is read here once, and what was read is what is kept."""
        content = await read_all(self._objects, file.key, file.size_bytes)
        await self._objects.put(copy.key, content)
        return len(content), hashlib.sha256(content).hexdigest()

    async def _have_copied(self, file: File, copy: File) -> tuple[int, str] | None:
        """A large one is copied by the store; its size first, so that nobody makes it copy more than was announced."""
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
        """Where a file was sent, and the sizes of what is there: as one by a worker that knows of no parts, or in parts."""
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
            _log.warning("objects were left for the next sweep", objects=len(keys), error=str(error))

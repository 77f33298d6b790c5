"""Reads back what was uploaded. A long reading outlives the request that asked for it: the next one finds its result."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from services.registry.core.checkpoint import describe_mismatch
from services.registry.store.checkpoints import File
from shared.errors import Transient
from shared.objects import ObjectStore

AT_ONCE = 4


class Verifier:
    """Compares objects with their manifest, each content once at a time.

    Args:
        hash_up_to_bytes: larger files are compared by size alone; None reads all of them.
    """

    def __init__(self, objects: ObjectStore, hash_up_to_bytes: int | None) -> None:
        self._objects = objects
        self._hash_up_to_bytes = hash_up_to_bytes
        self._free = asyncio.Semaphore(AT_ONCE)
        self._running: dict[tuple[UUID, int], asyncio.Task[str | None]] = {}

    async def mismatch(
        self, checkpoint: UUID, version: int, files: Sequence[File], wait_s: float
    ) -> str | None:
        """Return why the objects are not what the manifest says, or None when they are.

        Args:
            version: of the checkpoint's row, so that a manifest sent anew is read anew.
            wait_s: raises `Transient` after it while the reading goes on.
        """
        key = checkpoint, version
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(self._read(files))
            self._running[key] = task
        done, _ = await asyncio.wait({task}, timeout=wait_s)
        if not done:
            raise Transient("the upload is being verified", retry_after_s=0.5)
        self._running.pop(key, None)
        return await task

    async def close(self) -> None:
        """Stop reading."""
        for task in self._running.values():
            task.cancel()

    async def _read(self, files: Sequence[File]) -> str | None:
        reasons = await asyncio.gather(*[self._compare(file) for file in files])
        return next((reason for reason in reasons if reason), None)

    async def _compare(self, file: File) -> str | None:
        wanted = file.size_bytes, file.sha256
        async with self._free:
            if self._hash_up_to_bytes is not None and file.size_bytes > self._hash_up_to_bytes:
                stat = await self._objects.stat(file.key)
                return describe_mismatch(file.path, wanted, (stat.size_bytes, file.sha256) if stat else None)
            digest = await self._objects.digest(file.key)
            return describe_mismatch(
                file.path, wanted, (digest.size_bytes, digest.sha256) if digest else None
            )

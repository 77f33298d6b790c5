"""Batches requests to the registry for small checkpoints. Neighbour: `uploads`, which sends small checkpoints in parallel.

Requests that arrive while a message is in flight are combined into the next one: on an idle platform nothing waits, and a busy one gets
few large messages instead of many small ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import structlog

from muster.errors import MusterError, Transient
from shared.messages.checkpoints import (
    MOST_AT_ONCE,
    CommitCheckpoint,
    CommitMany,
    Committed,
    Upload,
    UploadLinks,
    UploadMany,
)
from worker.transfer.checkpoints.upload import BatchRegistry

MAX_FILES = 16
"""Maximum number of files of a batched checkpoint: all links must fit into one answer."""
Q = TypeVar("Q")
A = TypeVar("A")
_log = structlog.get_logger()


class BatchingRegistry:
    """The registry client for small uploads of one run."""

    def __init__(self, registry: BatchRegistry) -> None:
        self._registry = registry
        self._uploads = _Batches(registry.announce, self._announce_many)
        self._commits = _Batches(registry.commit, self._commit_many)

    async def announce(self, upload: Upload) -> UploadLinks:
        if upload.page is not None or len(upload.files) > MAX_FILES:
            return await self._registry.announce(upload)
        return await self._uploads.ask(upload)

    async def commit(self, commit: CommitCheckpoint) -> Committed:
        return await self._commits.ask(commit)

    async def _announce_many(self, uploads: Sequence[Upload]) -> Sequence[UploadLinks]:
        return await self._registry.announce_many(
            UploadMany(run_id=uploads[0].run_id, uploads=tuple(uploads))
        )

    async def _commit_many(self, commits: Sequence[CommitCheckpoint]) -> Sequence[Committed]:
        return await self._registry.commit_many(CommitMany(run_id=commits[0].run_id, commits=tuple(commits)))


class _Batches(Generic[Q, A]):
    """One message is in flight at a time."""

    def __init__(
        self,
        send_one: Callable[[Q], Awaitable[A]],
        send_many: Callable[[Sequence[Q]], Awaitable[Sequence[A]]],
    ) -> None:
        self._send_one = send_one
        self._send_many = send_many
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """Return the answer to a request. Raises as the registry does."""
        answer: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, answer))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())
        return await answer

    async def _send_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
            if len(batch) > 1 and await self._send_together(batch):
                continue
            await asyncio.gather(*(self._send_alone(*one) for one in batch))

    async def _send_together(self, batch: Sequence[tuple[Q, "asyncio.Future[A]"]]) -> bool:
        """Return False if the batch fails, for one of its requests or because the registry is older: each is then sent alone."""
        try:
            answers = await self._send_many([question for question, _ in batch])
        except MusterError:
            return False
        except ValueError as error:
            _log.warning(
                "the registry's answer to a batch is invalid; sending its requests one by one",
                error=str(error),
            )
            return False
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():
                future.set_result(answer)
        return True

    async def _send_alone(self, question: Q, future: "asyncio.Future[A]") -> None:
        try:
            answer = await self._send_one(question)
        except MusterError as error:
            if not future.done():
                future.set_exception(error)
        except (
            ValueError
        ) as error:  # the registry may have another version, and a later release may answer correctly
            if not future.done():
                future.set_exception(Transient(f"the registry's answer cannot be read: {error}"))
        else:
            if not future.done():
                future.set_result(answer)

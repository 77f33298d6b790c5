"""Uploads one announced checkpoint: hash, announce, send, commit. Neighbour: `uploads`, all of a run's."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import structlog
from pydantic import BaseModel, JsonValue

from muster.errors import MusterError, Rejected, Transient
from shared.ids import CheckpointId, RunId, WorkerId
from shared.messages.checkpoints import (
    CommitCheckpoint,
    CommitMany,
    Committed,
    ManifestPage,
    Upload,
    UploadLinks,
    UploadMany,
)
from shared.messages.files import FileEntry, FileLink, PartLink
from shared.runtime import faults
from shared.runtime.cancelling import run_all
from worker.sandbox.trial_files import TrialEntry, TrialFile, hash_trial_file, remove_tree, walk
from worker.transfer.checkpoints.restore import check_path, file_of
from worker.transfer.http import FILES_AT_ONCE

AFTER_PUT = faults.register("worker.after_put")
FIRST_RETRY_S = 0.25
MAX_RETRY_S = 10.0
WARN_AFTER_S = 2.0
"""Failures are reported to users after this time: shorter ones resolve themselves."""
DECISION_TIMEOUT_S = 30.0
"""The registry may take this long to verify the files, or to wait for other machines' files, before it is reported."""
WARN_AGAIN_S = 30.0
PAGE_BYTES = 384 * 1024
"""Size limit of the file list in one message: a thousand entries with long paths exceed the bus's limit."""
ENDED = frozenset({"saved", "abandoned", "corrupt", "deleted"})
_log = structlog.get_logger()


class Announced(BaseModel):
    """A checkpoint announced by a rank, as stored on disk until it is settled."""

    run_id: RunId
    checkpoint_id: CheckpointId
    number: int
    step: int
    directory: Path
    after_report: int
    metadata: dict[str, JsonValue] = {}
    parts: tuple[WorkerId, ...] = ()
    files: tuple[FileEntry, ...] | None = None
    state: str = "announced"
    reason: str | None = None
    announced_at: datetime | None = None


class Registry(Protocol):
    """The registry, as uploads use it."""

    async def announce(self, upload: Upload) -> UploadLinks: ...

    async def commit(self, commit: CommitCheckpoint) -> Committed: ...


class BatchRegistry(Registry, Protocol):
    """Batched requests for several checkpoints of a run; answers are in the same order."""

    async def announce_many(self, request: UploadMany) -> Sequence[UploadLinks]: ...

    async def commit_many(self, request: CommitMany) -> Sequence[Committed]: ...


@dataclass(frozen=True, slots=True)
class UploadEvents:
    """Dependencies and callbacks of an upload: PUT requests, a flush of earlier reports, and events."""

    put: Callable[[FileLink, TrialFile], Awaitable[None]]
    put_part: Callable[[PartLink, TrialFile], Awaitable[None]]
    flush: Callable[[], None]
    on_settled: Callable[[Announced], None]
    on_waiting: Callable[[Announced, str], None]


Keep = Callable[[Announced], Awaitable[None]]


class CheckpointUpload:
    """Uploads one announced checkpoint until the registry has decided.

    Args:
        slots: Limits concurrent files.
        keep: Stores the record on disk.
    """

    def __init__(
        self,
        record: Announced,
        registry: Registry,
        events: UploadEvents,
        slots: asyncio.Semaphore,
        keep: Keep,
    ) -> None:
        self.record = record
        self._registry = registry
        self._events = events
        self._slots = slots
        self._keep = keep
        self._sent: set[tuple[str, int | None]] = set()
        """Sent files as (path, None), and sent parts as (path, first byte)."""
        self._failing_since: float | None = None
        self._warned_at: float | None = None

    async def list_files(self) -> None:
        """Hash the checkpoint's files, unless an earlier daemon did.

        Raises:
            MusterError, OSError: The checkpoint cannot be stored.
        """
        if self.record.files is None:
            files = await asyncio.to_thread(_list_part, self.record)
            self.record = self.record.model_copy(update={"files": files})
            await self._keep(self.record)

    async def settle(self) -> Announced:
        """Retry until the registry has decided, and return the record with the decision."""
        retry_s = FIRST_RETRY_S
        while True:
            try:
                answer = await self._attempt()
                if answer.state in ENDED:
                    return self.record.model_copy(update={"state": answer.state, "reason": answer.reason})
                self._failed(answer.reason or "the registry requested another upload")
            except Transient as error:
                retry_s = max(min(retry_s, MAX_RETRY_S), min(error.retry_after_s, MAX_RETRY_S))
                self._failed(str(error))
            except (MusterError, OSError) as error:
                return await self.give_up(error)
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, MAX_RETRY_S)

    async def give_up(self, error: Exception) -> Announced:
        """Notify the registry that this checkpoint will not come, so that nothing waits for it; return the record as abandoned."""
        record, reason = self.record, str(error)
        _log.error("a checkpoint was given up", checkpoint=str(record.checkpoint_id), error=reason)
        notice = Upload(
            run_id=record.run_id,
            checkpoint_id=record.checkpoint_id,
            number=record.number,
            step=record.step,
            files=(),
            given_up=reason,
        )
        while True:
            try:
                answer = await self._registry.announce(notice)
            except Transient as failure:
                await asyncio.sleep(max(FIRST_RETRY_S, min(failure.retry_after_s, MAX_RETRY_S)))
                continue
            except MusterError as failure:
                _log.warning("a notice was refused", checkpoint=str(record.checkpoint_id), error=str(failure))
                answer = None
            state = answer.state if answer and answer.state in ENDED else "abandoned"
            return record.model_copy(update={"state": state, "reason": reason})

    def _failed(self, reason: str, within_s: float = WARN_AFTER_S) -> None:
        """Record a failed attempt; report continued failures now and then with the newest reason."""
        now = asyncio.get_running_loop().time()
        if self._failing_since is None:
            self._failing_since = now
        is_new = self._warned_at is None or now - self._warned_at >= WARN_AGAIN_S
        if is_new and now - self._failing_since >= within_s:
            self._warned_at = now
            self._events.on_waiting(self.record, reason)

    async def _attempt(self) -> UploadLinks | Committed:
        """Return the registry's current or final answer."""
        for announcement in announcements_of(self.record):
            first: int | None = 0
            while first is not None:
                links = await self._registry.announce(announcement.model_copy(update={"first": first}))
                if links.state in ENDED:
                    return links
                await self._put_all([link for link in links.files if (link.path, None) not in self._sent])
                first = links.next
        faults.point(AFTER_PUT)
        self._failing_since = None
        self._events.flush()
        committed = await self._commit()
        self._sent.clear()  # refused: requested files must be sent again
        return committed

    async def _put_all(self, links: Sequence[FileLink]) -> None:
        """Send the files, a few in parallel: each is read in chunks, so that memory use stays small."""
        waiting = iter(links)

        async def send() -> None:
            for link in waiting:
                async with self._slots:
                    await self._put(link)

        await run_all(*(send() for _ in range(min(FILES_AT_ONCE, len(links)))))

    async def _put(self, link: FileLink) -> None:
        check_path(link.path)
        source = file_of(self.record.directory, link.path)
        try:
            for part in link.parts:
                if (link.path, part.first) not in self._sent:
                    await self._events.put_part(part, source)
                    self._sent.add((link.path, part.first))
            if not link.parts:
                await self._events.put(link, source)
                self._sent.add((link.path, None))
        except Rejected as error:
            if error.code == "content_refused":  # the registry finds it missing and counts the attempts
                _log.warning("the store refused a file", path=link.path, reason=str(error))
                return
            raise Transient(str(error)) from error  # the URL expired: the next attempt brings a fresh one

    async def _commit(self) -> Committed:
        record = self.record
        commit = CommitCheckpoint(
            run_id=record.run_id,
            checkpoint_id=record.checkpoint_id,
            after_report=record.after_report,
            files=len(record.files or ()),
            metadata=record.metadata,
        )
        while True:
            answer = await self._registry.commit(commit)
            if answer.state in ENDED or answer.retry_after_s is None:
                return answer
            self._failed(answer.reason or "the registry has not decided yet", DECISION_TIMEOUT_S)
            await asyncio.sleep(min(answer.retry_after_s, 1.0))
            self._events.flush()


def announcements_of(record: Announced) -> list[Upload]:
    """Return the messages that announce a checkpoint: one, or several pages for many files."""
    whole = Upload(
        run_id=record.run_id,
        checkpoint_id=record.checkpoint_id,
        number=record.number,
        step=record.step,
        files=record.files or (),
        parts=record.parts,
        takes_headers=True,
    )
    pages: list[list[FileEntry]] = [[]]
    size_bytes = 0
    for entry in whole.files:
        entry_bytes = len(entry.model_dump_json())
        if size_bytes + entry_bytes > PAGE_BYTES:
            pages.append([])
            size_bytes = 0
        pages[-1].append(entry)
        size_bytes += entry_bytes
    if len(pages) == 1:
        return [whole]
    bare = whole.model_copy(update={"files": (), "parts": ()})
    return [
        bare.model_copy(update={"page": ManifestPage(files=tuple(page), parts=whole.parts)}) for page in pages
    ]


def list_files(folder: Path) -> tuple[FileEntry, ...]:
    """Return every file of a checkpoint with size and hash, sorted by name.

    Raises:
        Rejected: It contains a link or a device, or no file, or a file changed while it was read.
    """
    entries = []
    for found in sorted(_walk_all(folder), key=lambda found: found.path.split("/")):
        if not (found.is_file or found.is_folder):
            raise Rejected(
                "checkpoint_entry", "a checkpoint may contain only regular files", place=found.path
            )
        if found.is_file:
            check_path(found.path)
            sha256, size = hash_trial_file(file_of(folder, found.path))
            entries.append(FileEntry(path=found.path, size_bytes=size, sha256=sha256))
    if not entries:
        raise Rejected("checkpoint_empty", f"{folder} holds no file")
    return tuple(entries)


def _walk_all(folder: Path) -> list[TrialEntry]:
    try:
        return list(walk(folder.parent, folder.name, is_strict=True))
    except FileNotFoundError:
        reason = f"{folder} holds no file, or a folder in it was removed while it was listed"
        raise Rejected("checkpoint_empty", reason) from None


def _list_part(record: Announced) -> tuple[FileEntry, ...]:
    """As `list_files`; a worker may have no files if other workers have some."""
    if record.parts and not any(walk(record.directory.parent, record.directory.name, is_strict=True)):
        return ()
    return list_files(record.directory)


def drop_folder(folder: Path) -> None:
    """Remove a checkpoint's files."""
    remove_tree(folder)

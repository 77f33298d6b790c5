"""Announced checkpoints on their way to the store, beside the training: hash, ask, send, commit; one at a time per run."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

import structlog
from pydantic import BaseModel, JsonValue

from muster import wire
from muster.errors import MusterError, Rejected, Transient
from shared import faults
from shared.cancelling import run_together
from shared.ids import CheckpointId, RunId, WorkerId
from shared.messages.checkpoints import CommitCheckpoint, Committed, ManifestPage, Upload, UploadLinks
from shared.messages.files import FileEntry, FileLink, PartLink
from shared.outages import Outages
from worker.files.restore import check_path
from worker.files.transfer import FILES_AT_ONCE, hash_file

AFTER_PUT = faults.register("worker.after_put")
AFTER_COMMIT = faults.register("worker.after_commit")
MAX_RETRY_S = 10.0
ROOM_AGAIN_S = 1.0
PAGE_BYTES = 384 * 1024
"""Of files in one message: a thousand with long paths are more than the bus takes at once."""
_KEEPING = "keeping what became of a checkpoint; it waits in memory"
_ENDED = frozenset({"saved", "abandoned", "corrupt", "deleted"})
_log = structlog.get_logger()


class Announced(BaseModel):
    """A checkpoint that a rank announced, as it stands on disk until it is settled."""

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
    """What an upload asks of the registry."""

    async def announce(self, upload: Upload) -> UploadLinks: ...

    async def commit(self, commit: CommitCheckpoint) -> Committed: ...


@dataclass(frozen=True, slots=True)
class UploadEvents:
    """What an upload needs besides: PUTs, a flush of the reports before it, and somebody to tell."""

    put: Callable[[FileLink, Path], Awaitable[None]]
    put_part: Callable[[PartLink, Path], Awaitable[None]]
    flush: Callable[[], None]
    on_settled: Callable[[Announced], None]


class Uploads:
    """The checkpoints of one run, from their files in `directory`."""

    def __init__(self, directory: Path, registry: Registry, events: UploadEvents) -> None:
        self._directory = directory
        self._registry = registry
        self._events = events
        self._filled = asyncio.Event()
        self._outages = Outages()
        self._sent: set[tuple[str, int | None]] = set()
        """Paths with None, and parts of files with their first byte."""
        records = [
            Announced.model_validate_json(path.read_text()) for path in sorted(directory.glob("*.json"))
        ]
        self._waiting = [record for record in records if record.state not in _ENDED]
        self.announced = max((record.number for record in records), default=0)

    @property
    def is_drained(self) -> bool:
        """Whether nothing waits to be uploaded."""
        return not self._waiting

    def add(self, record: Announced) -> None:
        """Keep a checkpoint, on the disk itself, before anything is sent.

        Raises:
            OSError: The disk is full.
        """
        self._save(record)
        self.announced = max(self.announced, record.number)
        self._waiting.append(record)
        self._filled.set()
        self._events.flush()  # it commits when they have: they go while its files are sent

    async def run(self) -> None:
        """Upload for ever."""
        while True:
            while self._waiting:
                settled = await self._settle(self._waiting[0])
                faults.point(AFTER_COMMIT)
                await self._keep(settled)
                self._waiting.pop(0)
                self._events.on_settled(settled)
            self._filled.clear()
            await self._filled.wait()

    async def _settle(self, record: Announced) -> Announced:
        """Try until the registry has decided."""
        retry_s = 0.25
        self._sent.clear()
        while True:
            try:
                if record.files is None:
                    record = record.model_copy(update={"files": await asyncio.to_thread(_list_part, record)})
                    await self._keep(record)
                word = await self._attempt(record)
                if word.state in _ENDED:
                    return record.model_copy(update={"state": word.state, "reason": word.reason})
            except Transient as error:
                retry_s = max(min(retry_s, MAX_RETRY_S), min(error.retry_after_s, MAX_RETRY_S))
            except (MusterError, OSError) as error:
                _log.error(
                    "a checkpoint was given up", checkpoint=str(record.checkpoint_id), error=str(error)
                )
                return await self._give_up(record, str(error))
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, MAX_RETRY_S)

    async def _give_up(self, record: Announced, reason: str) -> Announced:
        """Tell the registry that it will not come: nobody waits for it then."""
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
            except Transient as error:
                await asyncio.sleep(max(0.25, min(error.retry_after_s, MAX_RETRY_S)))
                continue
            except MusterError as error:
                _log.warning("a notice was refused", checkpoint=str(record.checkpoint_id), error=str(error))
                answer = None
            state = answer.state if answer and answer.state in _ENDED else "abandoned"
            return record.model_copy(update={"state": state, "reason": reason})

    async def _attempt(self, record: Announced) -> UploadLinks | Committed:
        """The registry's last word on it, for now or for good."""
        for announcement in announcements_of(record):
            first: int | None = 0
            while first is not None:
                links = await self._registry.announce(announcement.model_copy(update={"first": first}))
                if links.state in _ENDED:
                    return links
                waiting = [link for link in links.files if (link.path, None) not in self._sent]
                await self._put_all(record, waiting)
                first = links.next
        faults.point(AFTER_PUT)
        self._events.flush()
        committed = await self._commit(record)
        self._sent.clear()  # refused: what is asked for next has to be sent
        return committed

    async def _put_all(self, record: Announced, links: Sequence[FileLink]) -> None:
        """Send the files, a few at once: each is read in pieces, so that memory stays small however large they are."""
        waiting = iter(links)

        async def send() -> None:
            for link in waiting:
                await self._put(record, link)

        await run_together(*(send() for _ in range(FILES_AT_ONCE)))

    async def _put(self, record: Announced, link: FileLink) -> None:
        check_path(link.path)
        try:
            for part in link.parts:
                if (link.path, part.first) not in self._sent:
                    await self._events.put_part(part, record.directory / link.path)
                    self._sent.add((link.path, part.first))
            if not link.parts:
                await self._events.put(link, record.directory / link.path)
                self._sent.add((link.path, None))
        except Rejected as error:
            if (
                error.code == "content_refused"
            ):  # the registry finds it missing, and says how often it may be tried
                _log.warning("the store refused a file", path=link.path, reason=str(error))
                return
            raise Transient(str(error)) from error  # the URL grew old: the next attempt brings a fresh one

    async def _commit(self, record: Announced) -> Committed:
        commit = CommitCheckpoint(
            run_id=record.run_id,
            checkpoint_id=record.checkpoint_id,
            after_report=record.after_report,
            files=len(record.files or ()),
            metadata=record.metadata,
        )
        while True:
            answer = await self._registry.commit(commit)
            if answer.state in _ENDED or answer.retry_after_s is None:
                return answer
            await asyncio.sleep(min(answer.retry_after_s, 1.0))
            self._events.flush()

    async def _keep(self, record: Announced) -> None:
        """Save a record; a full disk is waited for, since what was announced must end in a word of the registry's."""
        while True:
            try:
                self._save(record)
            except OSError as error:
                if not wire.is_disk_full(error):
                    raise
                self._outages.failed(_KEEPING, error)
                await asyncio.sleep(ROOM_AGAIN_S)
            else:
                self._outages.worked(_KEEPING)
                return

    def _save(self, record: Announced) -> None:
        target = self._directory / f"{record.number:06d}.json"
        temporary = target.with_suffix(".new")
        with temporary.open("w") as output:
            output.write(record.model_dump_json())
            output.flush()
            os.fsync(output.fileno())
        temporary.replace(target)


def announcements_of(record: Announced) -> list[Upload]:
    """What a checkpoint whose files are listed is announced with: one message, or as many as its files need."""
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
    """Every file of a checkpoint with size and hash, in the order of names.

    Raises:
        Rejected: It holds a link or a device, or nothing.
    """
    entries = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise Rejected("checkpoint_entry", "a checkpoint holds regular files only", place=name)
        if path.is_file():
            check_path(name)
            sha256, size = hash_file(path)
            entries.append(FileEntry(path=name, size_bytes=size, sha256=sha256))
    if not entries:
        raise Rejected("checkpoint_empty", f"{folder} holds no file")
    return tuple(entries)


def _list_part(record: Announced) -> tuple[FileEntry, ...]:
    """As `list_files`; where others hold files too, a worker may have none."""
    if record.parts and not any(record.directory.iterdir()):
        return ()
    return list_files(record.directory)


def drop_folder(folder: Path) -> None:
    """Remove a checkpoint's files."""
    shutil.rmtree(folder, ignore_errors=True)

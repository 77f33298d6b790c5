"""Uploads all announced checkpoints of a run in the background. Neighbour: `upload`, one of them.

Small checkpoints are sent in parallel, large ones one after the other, both in the order of their announcements: a script that
saves small checkpoints quickly waits for few round trips, and neither kind delays the other.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from muster import wire
from muster.errors import MusterError
from shared.runtime import faults
from shared.runtime.outages import Outages
from worker.metrics import Backlog, backlog_exported
from worker.transfer.checkpoints.batching import BatchingRegistry
from worker.transfer.checkpoints.upload import (
    ENDED,
    Announced,
    BatchRegistry,
    CheckpointUpload,
    Registry,
    UploadEvents,
)
from worker.transfer.disk_usage import used_bytes
from worker.transfer.http import FILES_AT_ONCE

AFTER_COMMIT = faults.register("worker.after_commit")
SMALL_BYTES = 8 * 1024 * 1024
SMALL_AT_ONCE = 8
SHARED_BYTES = 64 * 1024
"""A file of at least this size that another checkpoint is sending is waited for, so that it is not sent twice."""
DISK_RETRY_S = 1.0
_KEEPING = "storing the state of a checkpoint; it waits in memory"
_UPLOADING = "uploading checkpoints; they wait on this machine"

Content = tuple[str, int]
"""SHA-256 and size."""


class Uploads:
    """The checkpoint uploads of one run, with their records in `directory`."""

    def __init__(self, directory: Path, registry: BatchRegistry, events: UploadEvents) -> None:
        self._directory = directory
        self._events = events
        self._watched = replace(events, on_waiting=self._block)
        self._outages = Outages()
        self._small, self._large = _Lane(BatchingRegistry(registry)), _Lane(registry)
        self._arrived: asyncio.Queue[Announced] = asyncio.Queue()
        self._backlog = Backlog()
        records = [
            Announced.model_validate_json(path.read_text()) for path in sorted(directory.glob("*.json"))
        ]
        for record in records:
            if record.state not in ENDED:
                self._take(record)
        self.announced = max((record.number for record in records), default=0)

    @property
    def is_drained(self) -> bool:
        """Whether no upload is pending."""
        return not self._backlog.announced

    def add(self, record: Announced) -> None:
        """Store a checkpoint's record durably before its upload starts.

        Raises:
            OSError: The disk is full.
        """
        self._save(record)
        self.announced = max(self.announced, record.number)
        self._take(record)
        self._events.flush()  # the commit waits for earlier reports: send them while files are sent

    async def run(self) -> None:
        """Upload until cancelled."""
        with backlog_exported(self._backlog):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sort())
                group.create_task(self._send_all(self._large))
                for _ in range(SMALL_AT_ONCE):
                    group.create_task(self._send_all(self._small))

    def _take(self, record: Announced) -> None:
        self._backlog.announced[record.number] = record.announced_at
        self._arrived.put_nowait(record)

    async def _sort(self) -> None:
        while True:
            record = await self._arrived.get()
            size_bytes = await asyncio.to_thread(used_bytes, record.directory)
            lane = self._small if size_bytes <= SMALL_BYTES else self._large
            lane.queue.put_nowait(record)

    async def _send_all(self, lane: "_Lane") -> None:
        while True:
            record = await lane.queue.get()
            settled = await self._send(record, lane)
            faults.point(AFTER_COMMIT)
            await self._keep(settled)
            self._backlog.announced.pop(record.number, None)
            self._unblock(record.number)
            self._events.on_settled(settled)

    async def _send(self, record: Announced, lane: "_Lane") -> Announced:
        upload = CheckpointUpload(record, lane.registry, self._watched, lane.slots, self._keep)
        try:
            await upload.list_files()
            with lane.sending(_shareable(upload.record)) as first_senders:
                for over in first_senders:
                    await over.wait()
                return await upload.settle()
        except (MusterError, OSError, ValueError) as error:
            return await upload.give_up(error)

    def _block(self, record: Announced, reason: str) -> None:
        """Report an upload that keeps failing; the daemon's log has one entry for all of them."""
        self._backlog.failing.add(record.number)
        self._outages.failed(_UPLOADING, reason)
        self._events.on_waiting(record, reason)

    def _unblock(self, number: int) -> None:
        if number in self._backlog.failing:
            self._backlog.failing.discard(number)
            if not self._backlog.failing:
                self._outages.worked(_UPLOADING)

    async def _keep(self, record: Announced) -> None:
        """Store a record; wait on a full disk, because every announced checkpoint must end with a decision of the registry."""
        while True:
            try:
                self._save(record)
            except OSError as error:
                if not wire.is_disk_full(error):
                    raise
                self._outages.failed(_KEEPING, error)
                await asyncio.sleep(DISK_RETRY_S)
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


class _Lane:
    """A queue of checkpoints with shared senders; `slots` limits their concurrent files."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.queue: asyncio.Queue[Announced] = asyncio.Queue()
        self.slots = asyncio.Semaphore(FILES_AT_ONCE)
        self._senders: dict[Content, asyncio.Event] = {}

    @contextmanager
    def sending(self, contents: frozenset[Content]) -> Iterator[list[asyncio.Event]]:
        """Yield events for the end of earlier uploads with the same contents; later uploads wait for the end of this block."""
        over = asyncio.Event()
        others = {
            id(event): event for one in contents if (event := self._senders.setdefault(one, over)) is not over
        }
        try:
            yield list(others.values())
        finally:
            over.set()
            self._senders = {one: event for one, event in self._senders.items() if event is not over}


def _shareable(record: Announced) -> frozenset[Content]:
    files = record.files or ()
    return frozenset((file.sha256, file.size_bytes) for file in files if file.size_bytes >= SHARED_BYTES)

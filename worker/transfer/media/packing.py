"""Packs: the media that a run's ranks logged since the last pack, copied into one file with an index.

Ranks may modify their files at any time; the copy ensures that the announced content is sent. Positions are stored with the pack, so
that a restarted daemon resends the same pack.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ValidationError

from muster import wire
from shared.messages.media import ITEMS_PER_PACK, MediaItem
from worker.sandbox.trial_files import list_folder, opened
from worker.transfer.media.events import event_files

AIM_BYTES = 8 * 1024 * 1024
"""A pack is closed with the item that reaches this size; an item has at most 16 MiB."""
LIST_BYTES = 256 * 1024
"""Size limit of the index of one pack."""
CHUNK = 1024 * 1024
UNREADABLE = 2**62
"""The position in a file with invalid data."""
_STREAM = "application/octet-stream"


class Positions(BaseModel):
    """Read positions: of spool files by name, of event files by path."""

    spool: dict[str, int] = {}
    events: dict[str, int] = {}


class Packed(BaseModel):
    """A pack being sent, and the positions after it."""

    pack_id: UUID
    size_bytes: int
    sha256: str
    items: tuple[MediaItem, ...]
    after: Positions


@dataclass(frozen=True, slots=True)
class Folders:
    """The media directories of a run: the ranks' spool, and the directories of event files with their path prefixes."""

    spool: Path
    events: tuple[tuple[Path, str], ...]

    def waiting_bytes(self, taken: Positions) -> int:
        """Return the number of bytes not packed yet, including incomplete records."""
        waiting = sum(max(0, size - taken.spool.get(name, 0)) for name, size in self.spooled().items())
        for folder, prefix in self.events:
            for found in event_files(folder):
                waiting += max(0, found.size - taken.events.get(prefix + found.path, 0))
        return waiting

    def spooled(self) -> dict[str, int]:
        """Return the sizes of the ranks' spool files by name, oldest first."""
        found = list_folder(self.spool)
        return {
            one.path: one.status.st_size
            for one in found
            if one.is_file and one.path.endswith(wire.SPOOL_SUFFIX)
        }

    def forget_taken(self, taken: Positions, *, is_over: bool) -> Positions:
        """Delete spool files that are completely packed and no longer written."""
        files = self.spooled()
        newest = {_writer(name): name for name in files}
        left = dict(taken.spool)
        for name, size in files.items():
            is_done = is_over or newest[_writer(name)] != name
            if is_done and taken.spool.get(name, 0) >= size:
                (self.spool / name).unlink(missing_ok=True)
                left.pop(name, None)
        return Positions(spool=left, events=taken.events)


@dataclass(slots=True)
class _Pack:
    """A pack being written to `output`."""

    output: int
    after: Positions
    items: list[MediaItem] = field(default_factory=list)
    size_bytes: int = 0
    list_bytes: int = 0
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def is_full(self) -> bool:
        return (
            self.size_bytes >= AIM_BYTES or self.list_bytes >= LIST_BYTES or len(self.items) >= ITEMS_PER_PACK
        )

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def add(self, file: int, start: int, size: int, head: wire.MediaHead) -> None:
        """Copy an item, with pixels encoded as an image. Raises ValueError, with nothing written, if its header is invalid."""
        chunks = _read(file, start, size)
        if head.content_type == wire.PIXELS:
            if size > wire.PIXEL_BYTES:
                raise ValueError(f"an image of {size} bytes of pixels")
            head, body = wire.encoded(head, b"".join(chunks))
            chunks, size = iter((body,)), len(body)
        item = MediaItem(
            kind=head.kind,
            group=head.group,
            name=head.name,
            step=head.step,
            time_ms=head.time_ms,
            content_type=head.content_type,
            offset=self.size_bytes,
            size_bytes=size,
            sha256="0" * 64,
            about=head.about,
        )
        item_bytes = len(item.model_dump_json())
        digest = hashlib.sha256()
        for chunk in chunks:
            digest.update(chunk)
            self._digest.update(chunk)
            os.write(self.output, chunk)
        self.items.append(item.model_copy(update={"sha256": digest.hexdigest()}))
        self.size_bytes += size
        self.list_bytes += item_bytes


def pack(
    folders: Folders, taken: Positions, target: Path, pack_id: UUID, on_refused: Callable[[str], None]
) -> Packed | None:
    """Write the next pack to `target`; return None if there is no new complete item.

    Raises:
        OSError: The disk is full or broken; earlier positions stay valid.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    output = os.open(target, flags, 0o600)
    try:
        made = _Pack(output, taken.model_copy(deep=True))
        _take_spool(folders, made, on_refused)
        _take_events(folders, made)
    finally:
        os.close(output)
    if not made.items and made.after == taken:
        target.unlink()
        return None
    return Packed(
        pack_id=pack_id,
        size_bytes=made.size_bytes,
        sha256=made.sha256,
        items=tuple(made.items),
        after=made.after,
    )


def _take_spool(folders: Folders, made: _Pack, on_refused: Callable[[str], None]) -> None:
    for name in folders.spooled():
        with opened(folders.spool, name) as file:
            if file is None:
                continue
            offset, size = made.after.spool.get(name, 0), os.fstat(file).st_size
            try:
                for one in wire.read_spool(file, offset, size):
                    if made.is_full:
                        return
                    try:
                        made.add(file, one.start, one.head.size_bytes, one.head)
                    except ValueError as error:
                        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                        on_refused(f"an invalid media item was skipped: {reason}")
                    made.after.spool[name] = one.following
            except ValueError:
                on_refused(f"{name} was not written by Muster; the rest of it is skipped")
                made.after.spool[name] = UNREADABLE


def _take_events(folders: Folders, made: _Pack) -> None:
    for folder, prefix in folders.events:
        for found in event_files(folder):
            path = prefix + found.path
            at = made.after.events.get(path, 0)
            while at < found.size:
                if made.is_full:
                    return
                size = min(found.size - at, AIM_BYTES)
                head = wire.MediaHead("events", "tensorboard", path, at, 0, _STREAM, size)
                try:
                    made.add(found.file, at, size, head)
                except ValueError:
                    break  # a file name that is not UTF-8
                at += size
                made.after.events[path] = at


def _read(file: int, start: int, size: int) -> Iterator[bytes]:
    """Yield the content in chunks; zeros for data that its writer truncated meanwhile."""
    end = start + size
    while start < end:
        chunk = os.pread(file, min(CHUNK, end - start), start) or bytes(min(CHUNK, end - start))
        start += len(chunk)
        yield chunk


def _writer(name: str) -> str:
    """Return the id of the writing process."""
    return name.removesuffix(wire.SPOOL_SUFFIX).rpartition("-")[2]

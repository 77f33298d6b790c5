"""A source's journal on disk: consecutively numbered records, stored until the registry has committed them.

Append-only segments named by their first number. A record is length, CRC-32, number, tag, payload; a tail torn by a
crash fails its check and is truncated. The last record is never deleted: it stores the current number and the
tag (the caller's running count). A directory with only the mark continues from it. Writes reach the kernel at once, so they survive a killed daemon.
"""

import itertools
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from muster.errors import Broken

SEGMENT_BYTES = 4 * 1024 * 1024
BATCH_BYTES = 480 * 1024
"""Maximum payload of a batch: with its framing it stays below the 512 KiB limit of a report message."""
_HEAD = struct.Struct("<IIQI")


@dataclass(slots=True)
class _Segment:
    path: Path
    first: int
    offsets: list[int] = field(default_factory=list)
    size: int = 0

    @property
    def last(self) -> int:
        return self.first + len(self.offsets) - 1


class Journal:
    """One writer, one reader, one process.

    Attributes:
        last: Number of the newest record (0 = none yet).
        tag: The newest record's tag.
    """

    def __init__(self, directory: Path) -> None:
        """Open or create; truncate a torn tail.

        Raises:
            OSError: The directory cannot be written.
            Broken: A segment is missing in the middle.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._mark_path = directory / "mark"
        self._segments = [_load(path) for path in sorted(directory.glob("*.seg"))]
        self._segments = [segment for segment in self._segments if segment.offsets] or self._segments[-1:]
        _check_gapless(self._segments)
        self._file = -1
        newest = self._segments[-1] if self._segments else None
        self.last = newest.last if newest else self._load_mark() - 1
        self.tag = self._read_tag(newest) if newest and newest.offsets else 0
        self.next_unsent = max(self._load_mark(), self._segments[0].first if self._segments else 1)

    @property
    def is_drained(self) -> bool:
        """Whether the registry has committed every record."""
        return self.next_unsent > self.last

    @property
    def backlog_bytes(self) -> int:
        """The size of the segments that wait for the registry's commit."""
        return 0 if self.is_drained else sum(segment.size for segment in self._segments)

    def append(self, payloads: Sequence[tuple[bytes, int]]) -> int:
        """Append (payload, tag) pairs in one write and return the last number.

        Raises:
            OSError: The disk is full or broken; no record was appended.
        """
        segment = self._writable_segment()
        number = self.last
        frames, offsets, offset = [], [], segment.size
        for payload, tag in payloads:
            number += 1
            frame = _frame(number, tag, payload)
            frames.append(frame)
            offsets.append(offset)
            offset += len(frame)
        self._write(b"".join(frames), segment)
        segment.offsets += offsets
        segment.size = offset
        if payloads:
            self.last, self.tag = number, payloads[-1][1]
        return self.last

    def read_batch(self, limit_bytes: int = BATCH_BYTES) -> tuple[int, list[bytes]]:
        """Return the first uncommitted number and the payloads from there, up to the limit (at least one if any)."""
        payloads: list[bytes] = []
        size = 0
        for payload in self._read_from(self.next_unsent):
            size += len(payload) + 1
            if payloads and size > limit_bytes:
                break
            payloads.append(payload)
        return self.next_unsent, payloads

    def read_after(self, number: int) -> Iterator[bytes]:
        """Yield every stored record newer than `number`."""
        return self._read_from(number + 1)

    def last_payload(self) -> bytes | None:
        """Return the newest record's payload."""
        return next(self._read_from(self.last), None) if self.last else None

    def commit(self, next_number: int) -> None:
        """Delete records below `next_number`, which the registry expects next, except the newest.

        Raises:
            Broken: The registry expects a number that was never written here.
        """
        if next_number > self.last + 1:
            raise Broken(f"the registry expects report {next_number}, the journal ends at {self.last}")
        if next_number <= self.next_unsent:
            return
        self.next_unsent = next_number
        self._save_mark()
        # The next segment is empty if the disk was full at its first record.
        while len(self._segments) > 1 and self._segments[1].offsets and self._segments[0].last < next_number:
            self._segments.pop(0).path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file; the journal can be reopened."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _writable_segment(self) -> _Segment:
        newest = self._segments[-1] if self._segments else None
        if newest is None or newest.size >= SEGMENT_BYTES:
            first = self.last + 1
            newest = _Segment(self._directory / f"{first:020d}.seg", first)
            self.close()
            self._segments.append(newest)
        if self._file < 0:
            self._file = os.open(newest.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return newest

    def _write(self, data: bytes, segment: _Segment) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, segment.size)
            raise

    def _read_from(self, number: int) -> Iterator[bytes]:
        for segment in self._segments:
            if not segment.offsets or segment.last < number:
                continue
            start = max(0, number - segment.first)
            with segment.path.open("rb") as source:
                source.seek(segment.offsets[start])
                for _ in range(start, len(segment.offsets)):
                    length, _, _, _ = _HEAD.unpack(source.read(_HEAD.size))
                    yield source.read(length)

    def _read_tag(self, segment: _Segment) -> int:
        with segment.path.open("rb") as source:
            source.seek(segment.offsets[-1])
            tag: int = _HEAD.unpack(source.read(_HEAD.size))[3]
            return tag

    def _load_mark(self) -> int:
        try:
            return int(self._mark_path.read_text())
        except (OSError, ValueError):
            return 1

    def _save_mark(self) -> None:
        temporary = self._mark_path.with_suffix(".new")
        try:
            temporary.write_text(str(self.next_unsent))
            temporary.replace(self._mark_path)
        except OSError:
            return  # optional: without it the next start resends some records, which the registry ignores


def _frame(number: int, tag: int, payload: bytes) -> bytes:
    check = zlib.crc32(payload, zlib.crc32(struct.pack("<QI", number, tag)))
    return _HEAD.pack(len(payload), check, number, tag) + payload


def _load(path: Path) -> _Segment:
    """Index a segment and truncate invalid data."""
    segment = _Segment(path, int(path.stem))
    content = path.read_bytes()
    offset = 0
    while offset + _HEAD.size <= len(content):
        length, check, number, tag = _HEAD.unpack_from(content, offset)
        end = offset + _HEAD.size + length
        payload = content[offset + _HEAD.size : end]
        expected = segment.first + len(segment.offsets)
        whole = end <= len(content) and number == expected
        if not whole or zlib.crc32(payload, zlib.crc32(struct.pack("<QI", number, tag))) != check:
            break
        segment.offsets.append(offset)
        offset = end
    segment.size = offset
    if offset < len(content):
        os.truncate(path, offset)
    return segment


def _check_gapless(segments: list[_Segment]) -> None:
    for before, after in itertools.pairwise(segments):
        if after.first != before.last + 1:
            raise Broken(f"the journal lacks the records between {before.last} and {after.first}")

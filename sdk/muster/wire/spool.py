"""Media between a rank and its worker: files in the run's folder that the rank appends to and the worker reads.

A record is four bytes of length (big-endian), a JSON head of that length, and the bytes described by the head. Appended records
survive the end of the rank and of the daemon; a partial record at the end of a file was cut by a killed rank. The worker deletes
files when they are uploaded, the newest only after the run's end.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields

from muster.wire.frames import Json

SUFFIX = ".spool"
MAX_MEDIA_BYTES = 16 * 1024 * 1024
"""Maximum size of one image, table, text or histogram, as stored."""
MAX_HEAD_BYTES = 16 * 1024
SPOOL_BYTES = 256 * 1024 * 1024
"""Maximum bytes of a run that wait for upload; further media are dropped with a warning."""
SPOOL_FILE_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class MediaHead:
    """Description of a record's bytes. `about` holds display metadata, such as an image's size and caption."""

    kind: str
    group: str
    name: str
    step: int
    time_ms: int
    content_type: str
    size_bytes: int
    about: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Spooled:
    """A record in a file: its head, the offset of its bytes, and the offset of the next record."""

    head: MediaHead
    start: int
    following: int


def encode_head(head: MediaHead) -> bytes:
    """Encode the head of a record."""
    text = json.dumps(asdict(head), separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def read_spool(file: int, offset: int, size: int) -> Iterator[Spooled]:
    """Yield the complete records of an open file of `size` bytes from `offset` on; their bytes are not read.

    Raises:
        ValueError: The content is not a record, so later records cannot be found.
    """
    while offset + _LENGTH.size <= size:
        (length,) = _LENGTH.unpack(os.pread(file, _LENGTH.size, offset))
        if length > MAX_HEAD_BYTES:
            raise ValueError(f"a head of {length} bytes is too long")
        start = offset + _LENGTH.size + length
        if start > size:
            return
        head = _parse(os.pread(file, length, offset + _LENGTH.size))
        if start + head.size_bytes > size:
            return
        offset = start + head.size_bytes
        yield Spooled(head, start, offset)


def _parse(text: bytes) -> MediaHead:
    known = {part.name for part in fields(MediaHead)}
    try:
        content = json.loads(text)
        head = MediaHead(**{name: value for name, value in content.items() if name in known})
    except (TypeError, AttributeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if type(head.size_bytes) is not int or not 0 <= head.size_bytes <= MAX_MEDIA_BYTES:
        raise ValueError(f"{head.size_bytes!r} is not a valid size")
    return head

"""Media between a rank and its worker: files in the run's folder, to which a rank appends and from which the worker takes.

A record is four bytes of length (big-endian), a JSON head of that length, and as many bytes as the head says. What is appended is
safe from the rank's end and the daemon's; half a record at a file's end is what a killed rank did not finish. A file that is done
with is the worker's to delete, the newest only after the run's end.
"""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields

from muster.wire.frames import Json

SUFFIX = ".spool"
MAX_MEDIA_BYTES = 16 * 1024 * 1024
"""Of one image, table, text or histogram, as it is stored."""
MAX_HEAD_BYTES = 16 * 1024
SPOOL_BYTES = 256 * 1024 * 1024
"""So much of a run may wait to be sent; what comes then is dropped, and that is said."""
SPOOL_FILE_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class MediaHead:
    """What a record says of the bytes behind it. `about`: small facts for who shows it, as an image's size and caption."""

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
    """A record in a file: its head, where its bytes begin, and where the next record does."""

    head: MediaHead
    start: int
    following: int


def encode_head(head: MediaHead) -> bytes:
    """What stands before the record's bytes."""
    text = json.dumps(asdict(head), separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def read_spool(file: int, offset: int, size: int) -> Iterator[Spooled]:
    """Yield the whole records of an open file of `size` bytes, from `offset` on; its bytes are not read.

    Raises:
        ValueError: What stands there is no record: nothing behind it can be told apart.
    """
    while offset + _LENGTH.size <= size:
        (length,) = _LENGTH.unpack(os.pread(file, _LENGTH.size, offset))
        if length > MAX_HEAD_BYTES:
            raise ValueError(f"a head of {length} bytes")
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
        raise ValueError(f"{head.size_bytes!r} is no size")
    return head

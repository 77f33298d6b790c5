"""Frames to bytes and back."""

import json
import struct
from collections.abc import Iterator
from dataclasses import fields
from functools import cache

from muster.errors import Rejected
from muster.wire.frames import Frame

MAX_FRAME_BYTES = 4 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def encode(frame: Frame) -> bytes:
    """The frame's bytes. Infinities and NaN travel as Python's JSON writes them. Raises Rejected for one that is too large to be taken."""
    values = {name: getattr(frame, name) for name in _names(type(frame))}
    body = _to_json({"t": frame.TAG, **values}).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise Rejected(
            "frame_too_large",
            f"what a trial says at once may have {MAX_FRAME_BYTES:,} bytes, and this has {len(body):,}",
            hint="report fewer metrics at a time: of one report 1,000 are kept",
        )
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Cuts a stream of bytes into the frames it was told to expect."""

    def __init__(self, expected: tuple[type[Frame], ...]) -> None:
        self._types = {frame.TAG: frame for frame in expected}
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield every whole frame so far.

        Raises:
            Rejected: The bytes are no frame, too large a frame, or one of an unexpected type.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_FRAME_BYTES:
                raise Rejected("frame_too_large", f"a frame of {length} bytes is over {MAX_FRAME_BYTES}")
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield self._decode(body)

    def _decode(self, body: bytes) -> Frame:
        try:
            content = json.loads(body)
            kind = self._types[content.pop("t")]
            known = _names(kind)
            return kind(**{name: value for name, value in content.items() if name in known})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Rejected("frame_invalid", f"no message of this protocol: {error!r}") from error


@cache
def _names(kind: type[Frame]) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))  # type: ignore[arg-type]

"""Encoding and decoding of frames."""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_origin

from muster.errors import Rejected
from muster.wire.frames import Frame

MAX_FRAME_BYTES = 4 * 1024 * 1024
_MAX_INTEGER = 2**63 - 1
_LENGTH = struct.Struct(">I")
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def encode(frame: Frame) -> bytes:
    """Return the frame's bytes. Infinities and NaN are encoded as in Python's JSON. Raises Rejected for a frame that is too large."""
    values = {name: getattr(frame, name) for name in _names(type(frame))}
    body = _to_json({"t": frame.TAG, **values}).encode()
    if len(body) > MAX_FRAME_BYTES:
        raise Rejected(
            "frame_too_large",
            f"the message of {len(body):,} bytes exceeds the limit of {MAX_FRAME_BYTES:,} bytes",
            hint="report fewer metrics at a time: at most 1,000 per report are stored",
        )
    return _LENGTH.pack(len(body)) + body


class Decoder:
    """Splits a byte stream into frames of the expected types."""

    def __init__(self, expected: tuple[type[Frame], ...]) -> None:
        self._types = {frame.TAG: frame for frame in expected}
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield every complete frame.

        Raises:
            Rejected: The bytes are not a frame, or a frame is too large, or it or a field of it has an unexpected type.
        """
        self._buffer += data
        while len(self._buffer) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if length > MAX_FRAME_BYTES:
                raise Rejected(
                    "frame_too_large", f"the frame of {length} bytes exceeds the limit of {MAX_FRAME_BYTES}"
                )
            end = _LENGTH.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_LENGTH.size : end])
            del self._buffer[:end]
            yield self._decode(body)

    def _decode(self, body: bytes) -> Frame:
        try:
            content = json.loads(body.decode())
            if b"\\u" in body:
                # Half a character can be neither stored nor sent on.
                json.dumps(content, ensure_ascii=False).encode()
            kind = self._types[content.pop("t")]
            known = _field_types(kind)
            values = {name: value for name, value in content.items() if name in known}
            for name, value in values.items():
                if type(value) not in known[name] or (type(value) is int and abs(value) > _MAX_INTEGER):
                    raise TypeError(f"{name} is {value!r:.100}")
            return kind(**values)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Rejected(
                "frame_invalid", f"the frame is not a message of this protocol: {error!r}"
            ) from error


@cache
def _names(kind: type[Frame]) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))  # type: ignore[arg-type]


@cache
def _field_types(kind: type[Frame]) -> Mapping[str, frozenset[type]]:
    """Return the types of JSON values that each field may have; contents of lists and objects are the reader's to check."""
    return {part.name: frozenset(_json_types(part.type)) for part in fields(kind)}  # type: ignore[arg-type]


def _json_types(declared: Any) -> Iterator[type]:
    origin = get_origin(declared)
    if origin in (dict, list):
        yield origin
    elif origin is not None:
        for one in get_args(declared):
            yield from _json_types(one)
    else:
        yield declared
        if declared is float:
            yield int

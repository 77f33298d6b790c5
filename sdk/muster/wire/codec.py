"""Encoding and decoding of frames."""

import json
import struct
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from muster.errors import Rejected
from muster.wire.frames import Frame

MAX_FRAME_BYTES = 4 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_NUMBERS: frozenset[type] = frozenset({bool, int, float})
_ANY = (*_NUMBERS, str, list, dict, NoneType)
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
            Rejected: The bytes are not a frame, or a frame is too large or has an unexpected type.
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
            content = json.loads(body)
            kind = self._types[content.pop("t")]
            known = _kinds(kind)
            if wrong := [name for name, value in content.items() if type(value) not in known.get(name, _ANY)]:
                raise ValueError(f"{', '.join(wrong)} of {kind.TAG} has the wrong type")
            return kind(**{name: value for name, value in content.items() if name in known})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise Rejected(
                "frame_invalid", f"the frame is not a message of this protocol: {error!r}"
            ) from error


@cache
def _kinds(frame: type[Frame]) -> dict[str, tuple[type, ...]]:
    """Return the types that the values of a frame may have in JSON, without those of what they contain."""
    hints = get_type_hints(frame)
    return {name: _kinds_of(hints[name]) for name in _names(frame)}


def _kinds_of(hint: object) -> tuple[type, ...]:
    kinds: set[type] = set()
    for one in get_args(hint) if isinstance(hint, UnionType) or get_origin(hint) is Union else (hint,):
        plain = get_origin(one) or one
        kinds |= _NUMBERS if plain in _NUMBERS else {plain}
    return tuple(kinds)


@cache
def _names(kind: type[Frame]) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind))  # type: ignore[arg-type]

"""Protobuf messages as bytes, right ones and wrong ones, made from their descriptors by Hypothesis.

What stands for a kind or a field is made once: Hypothesis looks through each new strategy, which takes longer than all that is drawn from it.
"""

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor as Field
from hypothesis import strategies as st

VARINT, FIXED64, BYTES = 0, 1, 2
TEXTS = (
    "", "1", "1.1", "default", "admin", "x", "current", "latest", "none", "a:b", "-1", "%", "\0", "..",
    "01987cc5-0000-7000-8000-000000000000", "2030-01-01T00:00:00Z", "0" * 64, "name: x\n", "{" * 100, "(" * 50, "A" * 70_000,
)  # fmt: skip
NO_TEXT = (b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"ok\x80")
NUMBERS = (0, 1, 2, 50, 200, -1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63))
DOUBLES = (0.0, 1.0, -1.0, 0.5, 1e308, 5e-324, float("nan"), float("inf"), float("-inf"))
ENUMS = (0, 1, 2, 99, -1, 2**31 - 1)
DEEP = 90
"""Levels, as deep as gRPC's reader takes them; the limit of documents is below it."""
_DEEPEST = 3
_DOCUMENTS = ("Struct", "Value", "ListValue")


@cache
def messages(kind: Descriptor) -> st.SearchStrategy[bytes]:
    """What stands for a message of a kind: mostly one, with odd values; or bytes that are none."""
    made = _message(kind, 0)
    return st.one_of(
        made,
        made,
        st.tuples(made, _unknown()).map(b"".join),
        st.tuples(made, made).map(b"".join),
        st.tuples(made, st.integers(1, 20)).map(lambda pair: pair[0][: -pair[1]]),
        st.binary(max_size=60),
    )


def tagged(number: int, wire: int, payload: bytes) -> bytes:
    """One field as it travels."""
    length = varint(len(payload)) if wire == BYTES else b""
    return varint(number << 3 | wire) + length + payload


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


@cache
def _message(kind: Descriptor, depth: int) -> st.SearchStrategy[bytes]:
    if kind.name in _DOCUMENTS and depth < _DEEPEST:
        return st.one_of(_fields(kind, depth), st.sampled_from((_deep(kind, DEEP), _deep(kind, 20))))
    return _fields(kind, depth)


def _fields(kind: Descriptor, depth: int) -> st.SearchStrategy[bytes]:
    """Each field at most twice, in any order; several of a oneof among them."""
    fields: Sequence[Field] = kind.fields
    if not fields or depth > _DEEPEST:
        return st.just(b"")
    one = st.sampled_from(list(fields)).flatmap(lambda field: _field(field, depth))
    whole = st.tuples(*(_field(field, depth) for field in fields))
    return st.one_of(whole.map(b"".join), st.lists(one, max_size=2 * len(fields)).map(b"".join))


@cache
def _field(field: Field, depth: int) -> st.SearchStrategy[bytes]:
    number = field.number
    wire, values = _values(field, depth)
    right = values.map(lambda value: tagged(number, wire, value))
    wrong = st.sampled_from(
        (
            tagged(number, (wire + 1) % 3, varint(8)),
            tagged(number, BYTES, NO_TEXT[0]),
            tagged(number, 5, b"abcd"),
        )
    )
    return st.one_of(right, right, right, right, right, right, st.just(b""), st.just(b""), wrong)


def _values(field: Field, depth: int) -> tuple[int, st.SearchStrategy[bytes]]:
    match field.type:
        case Field.TYPE_STRING:
            texts = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.text(max_size=40))
            plain = texts.map(lambda text: text.encode("utf-8", "replace"))
            return BYTES, st.one_of(plain, plain, plain, plain, st.sampled_from(NO_TEXT))
        case Field.TYPE_BYTES:
            return BYTES, st.one_of(st.binary(max_size=200), st.just(b"x" * 100_000))
        case Field.TYPE_DOUBLE:
            return FIXED64, st.sampled_from(DOUBLES).map(lambda number: struct.pack("<d", number))
        case Field.TYPE_ENUM:
            return VARINT, st.sampled_from(ENUMS).map(varint)
        case Field.TYPE_MESSAGE:
            kind = field.message_type
            assert kind is not None
            return BYTES, st.deferred(lambda: _message(kind, depth + 1))
        case _:
            return VARINT, st.sampled_from(NUMBERS).map(varint)


@cache
def _unknown() -> st.SearchStrategy[bytes]:
    """A field that no version has, at each end of the numbers."""
    number = st.sampled_from((999, 2**29 - 1))
    return st.tuples(number, st.binary(max_size=8)).map(lambda pair: tagged(pair[0], BYTES, pair[1]))


def _deep(kind: Descriptor, levels: int) -> bytes:
    """A document of lists within lists."""
    value = b""
    for _ in range(levels):
        value = tagged(6, BYTES, tagged(1, BYTES, value))
    named: dict[str, Any] = {
        "Value": value,
        "ListValue": tagged(1, BYTES, value),
        "Struct": tagged(1, BYTES, tagged(1, BYTES, b"a") + tagged(2, BYTES, value)),
    }
    return bytes(named[kind.name])

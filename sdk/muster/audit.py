"""The chain that an audit log is sealed into, and how it is verified: by the gateway, and by whoever holds an export.

Record n is a text: its canonical JSON (keys in order, no blanks, UTF-8), in which its tenant and its sequence stand.
`hash(n) = SHA-256(hash(n - 1) + text(n))`, where `hash(0)` is 32 zero bytes; sequences begin at 1 and leave none out.
A line of an export is the text with the two hashes put at its end, so that it is verified without being written anew.
"""

import hashlib
import json
import re
from dataclasses import dataclass

START = bytes(32)
"""What comes before the first record."""

_LINE = re.compile(r'(\{.*),"previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Anchor:
    """How far a chain reaches: kept elsewhere, it proves later that nothing before it was changed or cut off."""

    sequence: int = 0
    hash: bytes = START

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Anchor":
        """Raises ValueError for anything but `SEQUENCE:HASH`."""
        sequence, _, digits = text.strip().partition(":")
        if not sequence.isdecimal() or not re.fullmatch("[0-9a-f]{64}", digits):
            raise ValueError(f"{text!r} is not an anchor: a sequence, a colon and 64 hexadecimal digits")
        return cls(int(sequence), bytes.fromhex(digits))


@dataclass(frozen=True, slots=True)
class Break:
    """Where a chain is broken first, and how."""

    sequence: int
    what: str


def link(previous: bytes, text: str) -> bytes:
    """The hash of a record that follows the one with the hash `previous`."""
    return hashlib.sha256(previous + text.encode()).digest()


def to_line(text: str, previous: bytes, own: bytes) -> str:
    """A record as a line of an export, without the line's end."""
    return f'{text[:-1]},"previous":"{previous.hex()}","hash":"{own.hex()}"}}'


def check_record(before: Anchor, text: str, own: bytes, tenant: str | None = None) -> Anchor | Break:
    """The anchor behind a record that follows `before`, or how it breaks the chain.

    Args:
        own: the hash that is said to be the record's.
        tenant: whose record it must be; None: any.
    """
    expected = before.sequence + 1
    try:
        record = json.loads(text)
        sequence, whose = record["sequence"], record["tenant"]
    except (ValueError, TypeError, KeyError):
        return Break(expected, "the record is not the JSON of a record of an audit log")
    if sequence != expected:
        return Break(expected, f"record {sequence} stands where record {expected} belongs")
    if tenant is not None and whose != tenant:
        return Break(expected, "the record is another tenant's")
    if link(before.hash, text) != own:
        return Break(expected, "the record is not what was sealed: its hash differs")
    return Anchor(expected, own)


def check_line(before: Anchor | None, line: str) -> Anchor | Break:
    """The anchor behind a line of an export, or how it breaks the chain.

    Args:
        before: where the line before ended; None for the first of a file, which says itself what it follows.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return Break(before.sequence + 1 if before else 1, "the line is not one of an export of an audit log")
    text, previous, own = f"{found[1]}}}", bytes.fromhex(found[2]), bytes.fromhex(found[3])
    if before is None:
        before = _says_it_follows(text, previous)
    elif previous != before.hash:
        return Break(
            before.sequence + 1, "the line does not follow the one before: the hash before it differs"
        )
    if before.sequence == 0 and previous != START:
        return Break(1, "the first record follows something")
    return check_record(before, text, own)


def _says_it_follows(text: str, previous: bytes) -> Anchor:
    try:
        return Anchor(int(json.loads(text)["sequence"]) - 1, previous)
    except (ValueError, TypeError, KeyError):
        return Anchor(0, previous)

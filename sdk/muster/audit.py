"""The hash chain of an audit log and its verification, by the gateway and by holders of an export.

Record n is a text: its canonical JSON (sorted keys, no blanks, UTF-8), which includes its tenant and its sequence.
`hash(n) = SHA-256(hash(n - 1) + text(n))`, where `hash(0)` is 32 zero bytes; sequences start at 1 without gaps.
A line of an export is the text with both hashes appended, so that it can be verified as it is.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

START = bytes(32)
"""Hash before the first record."""

_ANCHOR = re.compile(r"(?:([0-9a-f-]{36})/)?\b(\d{1,18}:[0-9a-f]{64})\b")
_LINE = re.compile(r'(\{.*),"previous":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Anchor:
    """Head of a chain; stored elsewhere, it later proves that no earlier record was changed or removed."""

    sequence: int = 0
    hash: bytes = START

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> "Anchor":
        """Parse `SEQUENCE:HASH`; raises ValueError for other text."""
        sequence, _, digits = text.strip().partition(":")
        if not sequence.isdecimal() or not re.fullmatch("[0-9a-f]{64}", digits):
            raise ValueError(f"{text!r} is not an anchor: a sequence, a colon and 64 hexadecimal digits")
        return cls(int(sequence), bytes.fromhex(digits))


@dataclass(frozen=True, slots=True)
class Break:
    """The first break of a chain, its reason, and the anchor that contradicts the chain, if one does."""

    sequence: int
    what: str
    anchor: Anchor | None = None


def link(previous: bytes, text: str) -> bytes:
    """Return the hash of a record that follows the record with hash `previous`."""
    return hashlib.sha256(previous + text.encode()).digest()


def to_line(text: str, previous: bytes, own: bytes) -> str:
    """Return a record as a line of an export, without the line break."""
    return f'{text[:-1]},"previous":"{previous.hex()}","hash":"{own.hex()}"}}'


def check_record(before: Anchor, text: str, own: bytes, tenant: str | None = None) -> Anchor | Break:
    """Return the anchor after a record that follows `before`, or the break.

    Args:
        own: Claimed hash of the record.
        tenant: Expected tenant of the record; None accepts any.
    """
    expected = before.sequence + 1
    try:
        record = json.loads(text)
        sequence, whose = record["sequence"], record["tenant"]
    except (ValueError, TypeError, KeyError):
        return Break(expected, "the record is not valid JSON of an audit record")
    if sequence != expected:
        return Break(expected, f"record {expected} is missing: found record {sequence} in its place")
    if tenant is not None and whose != tenant:
        return Break(expected, "the record belongs to another tenant")
    if link(before.hash, text) != own:
        return Break(expected, "the record was changed: its hash differs")
    return Anchor(expected, own)


def check_anchors(found: Anchor, anchors: Iterable[Anchor]) -> Anchor | Break:
    """Return `found`, the anchor after a record, or the break if an anchor of this record has another hash."""
    for anchor in anchors:
        if anchor.sequence == found.sequence and anchor.hash != found.hash:
            what = f"the record does not match the anchor {anchor}: the chain was rewritten"
            return Break(found.sequence, what, anchor)
    return found


def check_end(last: Anchor, anchors: Iterable[Anchor]) -> Break | None:
    """Return the break if an anchor is after the last record of the chain."""
    beyond = [anchor for anchor in anchors if anchor.sequence > last.sequence]
    if not beyond:
        return None
    newest = max(beyond, key=lambda anchor: anchor.sequence)
    what = f"the chain ends before the anchor {newest}: records were removed"
    return Break(last.sequence + 1, what, newest)


def find_anchors(lines: Iterable[str], tenant: str) -> list[Anchor]:
    """Return the anchors of a tenant in lines of any format, such as exported spans or earlier output of `muster audit head`."""
    found = (match for line in lines for match in _ANCHOR.finditer(line))
    return [Anchor.parse(match[2]) for match in found if match[1] in (None, tenant)]


def check_line(before: Anchor | None, line: str) -> Anchor | Break:
    """Return the anchor after a line of an export, or the break.

    Args:
        before: Anchor after the previous line; None for the first line of a file, which names its predecessor itself.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        return Break(before.sequence + 1 if before else 1, "the line is not a line of an audit log export")
    text, previous, own = f"{found[1]}}}", bytes.fromhex(found[2]), bytes.fromhex(found[3])
    if before is None:
        before = _predecessor_of(text, previous)
    elif previous != before.hash:
        return Break(
            before.sequence + 1, "the line does not follow the previous one: its previous hash differs"
        )
    if before.sequence == 0 and previous != START:
        return Break(1, "the first record names a predecessor")
    return check_record(before, text, own)


def _predecessor_of(text: str, previous: bytes) -> Anchor:
    try:
        return Anchor(int(json.loads(text)["sequence"]) - 1, previous)
    except (ValueError, TypeError, KeyError):
        return Anchor(0, previous)

"""Hides secrets in output: finds each value, and common encodings of it, and overwrites them. Pure.

This protects against accidents such as a printed configuration. It cannot stop a script that wants to print a secret.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus

MIN_CHARS = 8
"""The gateway refuses shorter values; shorter parts of a value, such as lines, are not hidden."""
_BASE64_WIDTHS = (64, 76)
"""Line lengths of PEM and MIME."""
_STAR = b"*"


class Mask:
    """Overwrites secrets with asterisks. The length stays the same, so that positions in the output stay valid.

    Attributes:
        longest: Size in bytes of the longest text to hide. Output is read with so many bytes around it, because a secret may lie across
            the boundaries of reads.
    """

    def __init__(self, values: Iterable[str] = (), *, hides_all: bool = False) -> None:
        values = tuple(values)
        self._hides_all = hides_all
        self._patterns = sorted({one for value in values for one in _patterns(value)}, key=len, reverse=True)
        self._lines = frozenset(line for value in values for line in _lines(value))
        self.longest = max(map(len, self._patterns), default=0)

    def hide(self, data: bytes) -> bytes:
        """Return `data` with all secrets overwritten."""
        if self._hides_all:
            return bytes(byte if byte in b"\r\n" else _STAR[0] for byte in data)
        spans = [span for pattern in self._patterns for span in _find(data, pattern)]
        if not spans:
            return data
        hidden = bytearray(data)
        for start, end in spans:
            hidden[start:end] = _STAR * (end - start)
        return bytes(hidden)

    def hide_in_line(self, line: str) -> str:
        """Return a decoded line with all secrets overwritten, and the whole line if it is a line of a secret."""
        if self._lines and line.strip() in self._lines:
            return "*" * len(line)
        if not self._patterns and not self._hides_all:
            return line
        return self.hide(line.encode(errors="replace")).decode(errors="replace")


NO_SECRETS = Mask()
EVERYTHING = Mask(hides_all=True)


def _patterns(value: str) -> Iterator[bytes]:
    """Yield a value and its encodings, as far as they are long enough."""
    for text in {value, value.strip()}:
        raw = text.encode()
        texts = (
            text,
            raw.hex(),
            raw.hex().upper(),
            quote(text, safe=""),
            quote_plus(text),
            json.dumps(text)[1:-1],
            json.dumps(text, ensure_ascii=False)[1:-1],
            repr(text)[1:-1],
            *_base64_forms(raw),
        )
        yield from (one.encode() for one in texts if len(one) >= MIN_CHARS)


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the base64 text of a value alone, and as part of a longer text: there its first and last characters also depend on its neighbours."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw).decode()
        for offset, skipped in ((0, 0), (1, 2), (2, 3)):
            text = encode(bytes(offset) + raw).decode().rstrip("=")[skipped:]
            yield text[:-1] if (offset + len(raw)) % 3 else text


def _lines(value: str) -> Iterator[str]:
    """Yield the lines of a value, and of its base64 text, as they appear if it is printed over several lines."""
    encoded = base64.b64encode(value.encode()).decode()
    wrapped = (
        encoded[start : start + width]
        for width in _BASE64_WIDTHS
        if len(encoded) > width
        for start in range(0, len(encoded), width)
    )
    lines = value.splitlines()
    yield from (
        line.strip()
        for line in (*(lines if len(lines) > 1 else ()), *wrapped)
        if len(line.strip()) >= MIN_CHARS
    )


def _find(data: bytes, pattern: bytes) -> Iterator[tuple[int, int]]:
    start = data.find(pattern)
    while start >= 0:
        yield start, start + len(pattern)
        start = data.find(pattern, start + 1)

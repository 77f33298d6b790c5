"""Splits the bytes of a rank's output into log lines. Pure."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

Level = Literal["debug", "info", "warning", "error"]

MAX_LINE_BYTES = 16 * 1024
MAX_ERROR_CHARACTERS = 200
_ANSI = re.compile(
    r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # titles, links, and other strings
    r"|\x1b[ -/]+[0-~]|\x1b[0-~]|\x08+"  # character sets, backspaces
)
_END = re.compile(rb"\r*\n|\r+")
_UP = re.compile(rb"\x1b\[[0-9]*A")
"""Cursor up: several progress bars below each other emit it after each update."""
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
_PLAIN_ERROR = re.compile(
    r"(Syntax|Indentation|Tab)Error: "  # a script with a syntax error has no traceback
    r"|muster: |\S*sh: .*(not found|No such file or directory)$"  # nor has a missing one
)
_TRACEBACK = b"Traceback (most recent call last):"
_NAMES: dict[str, Level] = {
    "DEBUG": "debug",
    "INFO": "info",
    "WARN": "warning",
    "WARNING": "warning",
    "ERROR": "error",
    "CRITICAL": "error",
    "FATAL": "error",
}


@dataclass(frozen=True, slots=True)
class Cut:
    """Lines, and the number of bytes they took. `is_open`: the last line was still being written."""

    lines: tuple[str, ...]
    consumed: int
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class LineWaits:
    """What to wait for: a newer update of a progress bar, and the end of a line that has none yet."""

    waits_for_state: bool = True
    waits_for_end: bool = True


class _State(NamedTuple):
    """The newest update of an overwritten line, and its position."""

    text: str
    start: int
    end: int


def cut_lines(data: bytes, is_last: bool, waits: LineWaits = LineWaits()) -> Cut:
    """Split `data` into lines, as a terminal would show them, without colours. Bytes that still wait are not consumed.

    Of a line that is overwritten repeatedly, such as a progress bar, only the newest update is kept; it waits for the line's end
    or for `waits`. A line without an end waits too, unless it is too long or the output has ended.
    """
    lines: list[str] = []
    position = 0
    state: _State | None = None
    while position < len(data):
        found = _END.search(data, position, position + MAX_LINE_BYTES + 1)
        if found is None and len(data) - position <= MAX_LINE_BYTES:
            break
        piece = _whole(data, position, MAX_LINE_BYTES) if found is None else 0
        end, after = found.span() if found else (piece, piece)
        text = clean_line(data[position:end])
        if found and (found[0][-1:] == b"\r" or _UP.search(data, position, end)):
            state = _State(text, position, after) if text.strip() else state
        else:
            lines.append(text if state is None or text.strip() else state.text)
            state = None
        position = after
    return _finish(data, lines, position, state, waits if not is_last else None)


def _finish(
    data: bytes, lines: list[str], position: int, state: _State | None, waits: LineWaits | None
) -> Cut:
    """Handle the bytes after the last complete line: emit them or leave them."""
    rest = clean_line(data[position:])
    if waits is None:
        last = rest if rest.strip() or state is None else state.text
        return Cut((*lines, last) if last else tuple(lines), len(data))
    if state is not None:
        if waits.waits_for_state and position - state.start <= MAX_LINE_BYTES:
            return Cut(tuple(lines), state.start)
        return Cut((*lines, state.text), state.end, is_open=True)
    if rest.strip() and not waits.waits_for_end:
        return Cut((*lines, rest), len(data), is_open=True)
    return Cut(tuple(lines), position)


def _whole(data: bytes, start: int, size: int) -> int:
    """Return the end of a chunk of about `size` bytes that splits no character."""
    end = start + size
    while end > start + size - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def clean_line(raw: bytes) -> str:
    """Decode the bytes of one line: no escape sequences, no NUL."""
    text = raw.decode("utf-8", errors="replace")
    if "\x1b" in text or "\x08" in text:
        text = _ANSI.sub("", text)
    return text.replace("\x00", "\ufffd")


def find_error(output: bytes) -> str:
    """Return the first line of the error of the last traceback; empty without a traceback."""
    _, traceback, rest = output.rpartition(_TRACEBACK)
    if not traceback:
        return _find_plain_error(output)
    lines = (clean_line(line) for line in rest.splitlines()[1:])
    return next((line[:MAX_ERROR_CHARACTERS] for line in lines if line and not line[0].isspace()), "")


def _find_plain_error(output: bytes) -> str:
    """Return the last line that explains a failed start without a traceback."""
    lines = (clean_line(line) for line in reversed(output.splitlines()))
    return next((line[:MAX_ERROR_CHARACTERS] for line in lines if _PLAIN_ERROR.match(line)), "")


def guess_level(text: str) -> Level | None:
    """Return the log level named near the start of a line, as loggers write it."""
    found = _LEVEL.search(text[:80])
    return _NAMES[found[1]] if found else None

"""Bytes of a rank's output to lines of a log. Pure."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

Level = Literal["debug", "info", "warning", "error"]

MAX_LINE_BYTES = 16 * 1024
MAX_ERROR_CHARACTERS = 200
_ANSI = re.compile(
    r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]"  # colours, movements
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # titles, links, and other strings
    r"|\x1b[ -/]+[0-~]|\x1b[0-~]|\x08+"  # character sets, and what goes back
)
_END = re.compile(rb"\r*\n|\r+")
_UP = re.compile(rb"\x1b\[[0-9]*A")
"""To the line above: what several progress bars below each other do after each state."""
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
_PLAIN_ERROR = re.compile(
    r"(Syntax|Indentation|Tab)Error: "  # a script that cannot be read has no calls to trace back
    r"|muster: |\S*sh: .*(not found|No such file or directory)$"  # nor has one that is not there
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
    """Lines, and how many bytes they took. `is_open`: the last of them was still being written."""

    lines: tuple[str, ...]
    consumed: int
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class LineWaits:
    """What may still be waited for: a newer state of a line that is written over, and the end of a line that has none."""

    waits_for_state: bool = True
    waits_for_end: bool = True


class _State(NamedTuple):
    """What a line that is written over shows, and where this stands."""

    text: str
    start: int
    end: int


def cut_lines(data: bytes, is_last: bool, waits: LineWaits = LineWaits()) -> Cut:
    """Cut `data` into lines, as a terminal would show them. What is waited for is not consumed; colours go.

    Of a line that is written over again and again, as progress bars do, older states are dropped; the newest waits for the line's end
    or for `waits`. A line without its end waits too, unless it is too long or the output has ended.
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
    """What follows the last whole line: shown or left."""
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
    """Where a piece of about `size` bytes ends that cuts no character."""
    end = start + size
    while end > start + size - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def clean_line(raw: bytes) -> str:
    """What was written between two ends of lines, as text: no escapes, no NUL."""
    text = raw.decode("utf-8", errors="replace")
    if "\x1b" in text or "\x08" in text:
        text = _ANSI.sub("", text)
    return text.replace("\x00", "\ufffd")


def find_error(output: bytes) -> str:
    """The error that the last traceback of an output ends with, its first line; empty without one."""
    _, traceback, rest = output.rpartition(_TRACEBACK)
    if not traceback:
        return _find_plain_error(output)
    lines = (clean_line(line) for line in rest.splitlines()[1:])
    return next((line[:MAX_ERROR_CHARACTERS] for line in lines if line and not line[0].isspace()), "")


def _find_plain_error(output: bytes) -> str:
    """The last line that says by itself why nothing was run."""
    lines = (clean_line(line) for line in reversed(output.splitlines()))
    return next((line[:MAX_ERROR_CHARACTERS] for line in lines if _PLAIN_ERROR.match(line)), "")


def guess_level(text: str) -> Level | None:
    """The level that a line names in its first part, as loggers write it."""
    found = _LEVEL.search(text[:80])
    return _NAMES[found[1]] if found else None

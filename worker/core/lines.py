"""Bytes of a rank's output to lines of a log. Pure."""

import re
from dataclasses import dataclass
from typing import Literal

Level = Literal["debug", "info", "warning", "error"]

MAX_LINE_BYTES = 16 * 1024
MAX_ERROR_CHARACTERS = 200
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]")
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b")
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
    """Whole lines, and how many bytes they took."""

    lines: tuple[str, ...]
    consumed: int


def cut_lines(data: bytes, is_last: bool) -> Cut:
    """Cut `data` into lines. A line without its end waits for it, unless it is too long or the output has ended.

    Of a progress bar, which returns to the line's start again and again, the newest state is kept; colours go.
    """
    lines: list[str] = []
    position = 0
    while position < len(data):
        end = data.find(b"\n", position, position + MAX_LINE_BYTES + 1)
        if end >= 0:
            lines.append(clean_line(data[position:end]))
            position = end + 1
        elif len(data) - position > MAX_LINE_BYTES:
            lines.append(clean_line(data[position : position + MAX_LINE_BYTES]))
            position += MAX_LINE_BYTES
        elif is_last:
            lines.append(clean_line(data[position:]))
            position = len(data)
        else:
            break
    return Cut(tuple(lines), position)


def clean_line(raw: bytes) -> str:
    """One line as text: what a terminal would show in the end, without NUL."""
    text = raw.decode("utf-8", errors="replace").rstrip("\r")
    shown = text.rsplit("\r", 1)[-1]
    return _ANSI.sub("", shown).replace("\x00", "\ufffd")


def find_error(output: bytes) -> str:
    """The error that the last traceback of an output ends with, its first line; empty without one."""
    _, traceback, rest = output.rpartition(_TRACEBACK)
    if not traceback:
        return ""
    lines = (clean_line(line) for line in rest.splitlines()[1:])
    return next((line[:MAX_ERROR_CHARACTERS] for line in lines if line and not line[0].isspace()), "")


def guess_level(text: str) -> Level | None:
    """The level that a line names in its first part, as loggers write it."""
    found = _LEVEL.search(text[:80])
    return _NAMES[found[1]] if found else None

"""Standard output and error that survive a full disk: output is buffered and written when there is space again.

Both streams are files of the worker, and a healthy rank must not fail in `print`. `runtime` uses this for forked ranks,
`_trial` for ranks that were started cold.
"""

import atexit
import io
import os
import sys
import time
from typing import TYPE_CHECKING

from muster.wire.full_disk import is_disk_full

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HELD_BYTES = 1024 * 1024
"""Buffered bytes per stream; beyond it, the oldest lines are dropped and counted."""
SETTLE_S = 3.0
SETTLE_EVERY_S = 0.1

_streams: list["_BufferedStream"] = []


def tolerate_full_disk() -> None:
    """Make `sys.stdout` and `sys.stderr` buffer output while the disk is full. Forks inherit this; replaced streams are not changed."""
    if _streams:
        return
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is not getattr(sys, f"__{name}__"):
            continue
        patient = _BufferedStream(descriptor)
        text = io.TextIOWrapper(
            io.BufferedWriter(patient), encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
        _streams.append(patient)
    atexit.register(settle)


def settle() -> None:
    """Wait briefly at exit for space to write the buffered output."""
    deadline = time.monotonic() + SETTLE_S
    while [stream for stream in _streams if not stream.write_held()] and time.monotonic() < deadline:
        time.sleep(SETTLE_EVERY_S)


class _BufferedStream(io.FileIO):
    """A descriptor with a buffer; a fork starts with an empty buffer."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._held = bytearray()
        self._dropped_lines = 0
        self._is_midline = False
        self._pid = os.getpid()

    def write(self, data: "ReadableBuffer") -> int:
        self._own()
        content = bytes(data)
        self._held += content
        self.write_held()
        return len(content)

    def write_held(self) -> bool:
        """Write the buffered output; return whether nothing is left."""
        self._own()
        try:
            if self._dropped_lines:
                note = f"muster: {self._dropped_lines} lines were dropped here while the disk was full\n"
                note = "\n" + note if self._is_midline else note
                self._held[:0] = note.encode()[super().write(note.encode()) :]
                self._dropped_lines = 0
            while self._held:
                written = super().write(self._held)
                self._is_midline = self._held[written - 1 : written] != b"\n"
                del self._held[:written]
        except OSError as error:
            if not is_disk_full(error):
                self._held.clear()
                raise
            self._drop_oldest()
        return not self._held

    def _own(self) -> None:
        if self._pid != os.getpid():
            self._pid, self._dropped_lines = os.getpid(), 0
            self._held.clear()

    def _drop_oldest(self) -> None:
        excess = len(self._held) - HELD_BYTES
        if excess > 0:
            end = self._held.find(b"\n", excess) + 1 or len(self._held)
            self._dropped_lines += self._held.count(b"\n", 0, end)
            del self._held[:end]

"""Standard output and error that a full disk does not fail: what it has no room for is held, and written when it has.

Both are files of the worker's, and a rank that is healthy must not die of a `print`. Neighbours: `runtime` for what is
forked, `_trial` for ranks that were started cold.
"""

import atexit
import io
import os
import sys
import time
from typing import TYPE_CHECKING

from muster.wire.disk import is_disk_full

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

HELD_BYTES = 1024 * 1024
"""So much of each is held; beyond it the oldest lines go, and their number is told."""
SETTLE_S = 3.0
SETTLE_EVERY_S = 0.1

_streams: list["_BufferedStream"] = []


def tolerate_full_disk() -> None:
    """Make `sys.stdout` and `sys.stderr` hold what descriptors 1 and 2 have no room for; forks keep that. Streams of others are left alone."""
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
    """Before the end: wait shortly for room for what is held."""
    deadline = time.monotonic() + SETTLE_S
    while [stream for stream in _streams if not stream.write_held()] and time.monotonic() < deadline:
        time.sleep(SETTLE_EVERY_S)


class _BufferedStream(io.FileIO):
    """A descriptor to write to. A fork holds nothing of what its parent has still to write."""

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
        """Whether nothing is left to be written."""
        self._own()
        try:
            if self._dropped_lines:
                note = f"muster: {self._dropped_lines} lines went missing here while the disk was full\n"
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

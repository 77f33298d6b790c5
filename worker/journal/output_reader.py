"""Reads a rank's stdout or stderr as lines. Neighbour: `logs` puts them into the journal."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.core.line_splitter import Cut, LineWaits, cut_lines
from worker.core.masking import Mask
from worker.paths import RunPaths
from worker.sandbox.trial_files import opened

READ_BYTES = 128 * 1024
LAST_BYTES = 16 * 1024
REST_BYTES = 1024 * 1024
STATE_EVERY_S = 5.0
"""How often a progress bar's state is logged; once more when its line ends."""
END_WAIT_S = 10.0
"""A line without an end that has not grown for this time is logged as it is."""

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Output:
    """One output file of a rank."""

    path: Path
    rank: int
    stream: Stream

    @property
    def key(self) -> str:
        """Its key in the offsets file."""
        return f"{self.rank}.{self.stream}"


def outputs_of(paths: RunPaths, ranks: Iterable[int]) -> list[Output]:
    """Return the output files of these ranks."""
    return [Output(paths.output(rank, stream), rank, stream) for rank in ranks for stream in STREAMS]


class OutputReader:
    """Reads an output file. `offset`: the end of the lines taken so far; unread output stays in the file, not in memory.

    Everything that it returns has passed the mask.
    """

    def __init__(self, output: Output, offset: int, mask: Callable[[], Mask]) -> None:
        self.output = output
        self._mask = mask
        self.offset = offset
        self._progress_at = -STATE_EVERY_S
        self._size = 0
        self._grown_at = 0.0

    def read(self, now: float, is_last: bool) -> tuple[Cut, bool]:
        """Return the next lines and whether more can be read at once; `now` in monotonic seconds. Confirm them with `take`."""
        data = self._read_new(now)
        if data is None:
            return Cut((), 0), False
        is_full = len(data) == READ_BYTES
        cut = cut_lines(data, is_last and not is_full, self._waits(now, is_full))
        return cut, is_full

    def take(self, cut: Cut, now: float) -> None:
        """Advance past lines that are journaled."""
        self.offset += cut.consumed
        if cut.is_open:
            self._progress_at = now

    def rest(self) -> bytes:
        """Return the unread output, at most its end."""
        return self._from(self.offset, REST_BYTES)

    def last(self) -> bytes:
        """Return the end of the file."""
        return self._from(0, LAST_BYTES)

    def _read_new(self, now: float) -> bytes | None:
        """Return output after `offset`; None if there is none, or the file is missing or no regular file."""
        with opened(self.output.path.parent, self.output.path.name) as file, suppress(OSError):
            size = os.fstat(file).st_size if file is not None else 0
            if file is None or size <= self.offset:
                return None
            if size != self._size:
                self._size, self._grown_at = size, now
            return self._read_masked(file, READ_BYTES, self.offset)
        return None

    def _from(self, offset: int, limit: int) -> bytes:
        with opened(self.output.path.parent, self.output.path.name) as file, suppress(OSError):
            if file is not None:
                return self._read_masked(file, limit, max(offset, os.fstat(file).st_size - limit))
        return b""

    def _read_masked(self, file: int, limit: int, offset: int) -> bytes:
        """Read with enough bytes around to recognize a secret that lies across the boundaries."""
        mask = self._mask()
        before = min(offset, mask.longest)
        data = mask.hide(os.pread(file, before + limit + mask.longest, offset - before))
        return data[before : before + limit]

    def _waits(self, now: float, has_more: bool) -> LineWaits:
        """Return what to wait for; the end of a line that a read has split is available already."""
        return LineWaits(
            waits_for_state=now - self._progress_at < STATE_EVERY_S,
            waits_for_end=has_more or now - self._grown_at < END_WAIT_S,
        )

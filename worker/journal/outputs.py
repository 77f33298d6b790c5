"""What one rank writes to stdout or stderr, read on as lines. Neighbour: `logs` puts them into the journal."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.core.lines import Cut, LineWaits, cut_lines
from worker.paths import RunPaths

READ_BYTES = 128 * 1024
LAST_BYTES = 16 * 1024
REST_BYTES = 1024 * 1024
STATE_EVERY_S = 5.0
"""A progress bar's state is in the log so often, and once more when its line ends."""
END_WAIT_S = 10.0
"""A line that has had no end for so long, and does not grow, is shown as it stands."""

Stream = Literal["stdout", "stderr"]
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Output:
    """One file that a rank writes."""

    path: Path
    rank: int
    stream: Stream

    @property
    def key(self) -> str:
        """Its name among the offsets."""
        return f"{self.rank}.{self.stream}"


def outputs_of(paths: RunPaths, ranks: Iterable[int]) -> list[Output]:
    """What these ranks write."""
    return [Output(paths.output(rank, stream), rank, stream) for rank in ranks for stream in STREAMS]


class OutputReader:
    """Reads an output. `offset` is how far its lines have been taken; what is not read stays in the file, not in memory."""

    def __init__(self, output: Output, offset: int) -> None:
        self.output = output
        self.offset = offset
        self._progress_at = -STATE_EVERY_S
        self._size = 0
        self._grown_at = 0.0

    def read(self, now: float, is_last: bool) -> tuple[Cut, bool]:
        """Return the next lines and whether there may be more at once; `now` in monotonic seconds. Take them with `take`."""
        try:
            size = self.output.path.stat().st_size
            if size <= self.offset:
                return Cut((), 0), False
            if size != self._size:
                self._size, self._grown_at = size, now
            with self.output.path.open("rb") as source:
                source.seek(self.offset)
                data = source.read(READ_BYTES)
        except OSError:
            return Cut((), 0), False
        is_full = len(data) == READ_BYTES
        cut = cut_lines(data, is_last and not is_full, self._waits(now, is_full))
        return cut, is_full

    def take(self, cut: Cut, now: float) -> None:
        """Its lines are journaled: go on behind them."""
        self.offset += cut.consumed
        if cut.is_open:
            self._progress_at = now

    def rest(self) -> bytes:
        """What has not been read yet; of very much the end."""
        return self._from(self.offset, REST_BYTES)

    def last(self) -> bytes:
        """The end of the file."""
        return self._from(0, LAST_BYTES)

    def _from(self, offset: int, most: int) -> bytes:
        try:
            with self.output.path.open("rb") as source:
                source.seek(max(offset, self.output.path.stat().st_size - most))
                return source.read(most)
        except OSError:
            return b""

    def _waits(self, now: float, has_more: bool) -> LineWaits:
        """How long to wait; the end of a line that a read has cut in two is there already, however old the file is."""
        return LineWaits(
            waits_for_state=now - self._progress_at < STATE_EVERY_S,
            waits_for_end=has_more or now - self._grown_at < END_WAIT_S,
        )

"""Points of one series in columns, and the bytes in which a chunk of them is kept. Pure.

A chunk is written once with what a batch brought (plain), and later joined with its neighbours (packed). A packed one of
many points carries a roll-up beside it: the least and the greatest of each stretch, from which a chart of a long series is
drawn without reading all of it.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from struct import pack
from typing import Self

import numpy as np
from numpy.typing import NDArray

from services.registry.series.core.downsample import EXTREMES, choose_extremes
from services.registry.series.core.report_columns import SeriesPoints

MOST_POINTS = 4_096
"""Of a packed chunk: what is read at once when one point is wanted, some 35 KB of noise."""
ROLLED_UP = 16
"""A roll-up has one point of so many."""
ROLLED_UP_FROM = 1_024
THINNED_TO = 256
"""So few points of a day are never thinned."""
_COLUMNS = 4
_PLAIN, _PACKED = b"\x00", b"\x01"
_LEVEL = 1
"""The higher levels of zlib save 3 % for three times the time: what is left is the noise of the values."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Points in any order: record numbers, steps, milliseconds, values; four columns of one length."""

    seqs: Ints
    steps: Ints
    times_ms: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    @classmethod
    def of(cls, points: SeriesPoints) -> Self:
        """The same points in columns."""
        return cls(
            np.array(points.seqs, dtype=np.int64),
            np.array(points.steps, dtype=np.int64),
            np.array(points.times_ms, dtype=np.int64),
            np.array(points.values, dtype=np.float64),
        )

    def take(self, places: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "Columns":
        """The points at these places."""
        return Columns(self.seqs[places], self.steps[places], self.times_ms[places], self.values[places])

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last step of sorted points."""
        return int(self.steps[0]), int(self.steps[-1])

    def sorted(self) -> "Columns":
        """By step, and within a step in the order of their reporting."""
        if (self.steps[1:] > self.steps[:-1]).all():
            return self
        return self.take(np.lexsort((self.seqs, self.steps)))


def join(parts: Sequence[Columns]) -> Columns:
    """The points of all parts, one part behind the other."""
    if len(parts) == 1:
        return parts[0]
    return Columns(
        np.concatenate([part.seqs for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.steps for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.times_ms for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.values for part in parts] or [np.empty(0, np.float64)]),
    )


def split(points: Columns) -> list[Columns]:
    """Sorted points in chunks of at most `MOST_POINTS`, all but the last one full."""
    return [points.take(slice(at, at + MOST_POINTS)) for at in range(0, len(points), MOST_POINTS)]


def roll_up(points: Columns) -> Columns:
    """One point of `ROLLED_UP`: of each stretch the least and the greatest, and what is not finite. Of sorted points."""
    return points.take(choose_extremes(points.values, max(2, len(points) // ROLLED_UP)))


def roll_up_of(points: Columns) -> bytes | None:
    """The bytes of a chunk's roll-up; None where the chunk is so small that reading all of it costs no more."""
    return to_packed(roll_up(points)) if len(points) >= ROLLED_UP_FROM else None


def thin(points: Columns) -> Columns:
    """What is kept of a day's sorted points for the long run: a sixteenth, at least `THINNED_TO`."""
    return points.take(choose_extremes(points.values, max(THINNED_TO, len(points) // ROLLED_UP)))


def is_long(count: int, most: int) -> bool:
    """Whether the roll-ups of so many points hold enough for a curve of `most`."""
    return count >= most * ROLLED_UP * EXTREMES


def to_plain(points: SeriesPoints) -> bytes:
    """The bytes of a few points, as quick to write as can be: big-endian columns, as Postgres's own `int8send` makes them."""
    count = len(points)
    return pack(
        f">c{3 * count}q{count}d", _PLAIN, *points.seqs, *points.steps, *points.times_ms, *points.values
    )


def to_packed(points: Columns) -> bytes:
    """The bytes of many points: differences of the numbers, each column's bytes by their place, compressed.

    Steps, record numbers and times then cost next to nothing; what is left is the noise of the values.
    """
    table = np.empty((_COLUMNS, len(points)), dtype="<i8")
    for row, column in enumerate((points.seqs, points.steps, points.times_ms)):
        # Differences of 64-bit numbers may wrap around, and their sums wrap back.
        table[row] = np.diff(column, prepend=np.int64(0))
    table[3] = points.values.view(np.int64)
    planes = table.view(np.uint8).reshape(_COLUMNS, len(points), 8).transpose(0, 2, 1)
    return _PACKED + zlib.compress(planes.tobytes(), _LEVEL)


def from_bytes(body: bytes) -> Columns:
    """The points of a chunk, bit for bit, in the order in which they were given."""
    if body[:1] == _PLAIN:
        return _columns(np.frombuffer(body, dtype=">i8", offset=1).astype(np.int64).reshape(_COLUMNS, -1))
    planes = np.frombuffer(zlib.decompress(memoryview(body)[1:]), dtype=np.uint8).reshape(_COLUMNS, 8, -1)
    table = planes.transpose(0, 2, 1).copy().view("<i8").reshape(_COLUMNS, -1).astype(np.int64, copy=False)
    np.cumsum(table[:3], axis=1, out=table[:3])
    return _columns(table)


def _columns(table: Ints) -> Columns:
    return Columns(table[0], table[1], table[2], table[3].view(np.float64))

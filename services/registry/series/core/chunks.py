"""Points of one series in columns, and the encoding of chunks. Pure.

A chunk is first written with the points of one batch (plain), and later merged with its neighbours (packed). A packed chunk with
many points has a roll-up: the minimum and maximum of each range of points, from which a chart of a long series is
drawn without reading all points.
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
"""Of a packed chunk, which is read as a whole: about 35 KB of incompressible values."""
ROLLED_UP = 16
"""Points per point of a roll-up."""
ROLLED_UP_FROM = 1_024
THINNED_TO = 256
"""Fewer points per day are never thinned."""
_COLUMNS = 4
_PLAIN, _PACKED = b"\x00", b"\x01"
_LEVEL = 1
"""Higher zlib levels save 3 % for three times the time: the values are mostly noise."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Points in any order: record numbers, steps, milliseconds, values; four columns of equal length."""

    seqs: Ints
    steps: Ints
    times_ms: Ints
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    @classmethod
    def of(cls, points: SeriesPoints) -> Self:
        """Return the same points in columns."""
        return cls(
            np.array(points.seqs, dtype=np.int64),
            np.array(points.steps, dtype=np.int64),
            np.array(points.times_ms, dtype=np.int64),
            np.array(points.values, dtype=np.float64),
        )

    def take(self, places: NDArray[np.bool_] | NDArray[np.intp] | slice) -> "Columns":
        """Return the points at these indices."""
        return Columns(self.seqs[places], self.steps[places], self.times_ms[places], self.values[places])

    @property
    def span(self) -> tuple[int, int]:
        """First and last step of sorted points."""
        return int(self.steps[0]), int(self.steps[-1])

    def sorted(self) -> "Columns":
        """Return the points by step, and within a step in reporting order."""
        if (self.steps[1:] > self.steps[:-1]).all():
            return self
        return self.take(np.lexsort((self.seqs, self.steps)))


def join(parts: Sequence[Columns]) -> Columns:
    """Return the points of all parts, concatenated."""
    if len(parts) == 1:
        return parts[0]
    return Columns(
        np.concatenate([part.seqs for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.steps for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.times_ms for part in parts] or [np.empty(0, np.int64)]),
        np.concatenate([part.values for part in parts] or [np.empty(0, np.float64)]),
    )


def split(points: Columns) -> list[Columns]:
    """Return sorted points in chunks of at most `MOST_POINTS`, all full except the last."""
    return [points.take(slice(at, at + MOST_POINTS)) for at in range(0, len(points), MOST_POINTS)]


def roll_up(points: Columns) -> Columns:
    """Return one of `ROLLED_UP` points: the minimum and maximum of each range, and values that are not finite. Points must be sorted."""
    return points.take(choose_extremes(points.values, max(2, len(points) // ROLLED_UP)))


def roll_up_of(points: Columns) -> bytes | None:
    """Return the bytes of a chunk's roll-up; None for a chunk that is so small that reading all of it costs no more."""
    return to_packed(roll_up(points)) if len(points) >= ROLLED_UP_FROM else None


def thin(points: Columns) -> Columns:
    """Return the points to keep of a day's sorted points: a sixteenth, at least `THINNED_TO`."""
    return points.take(choose_extremes(points.values, max(THINNED_TO, len(points) // ROLLED_UP)))


def is_long(count: int, most: int) -> bool:
    """Return whether the roll-ups of this many points contain enough for a curve of `most` points."""
    return count >= most * ROLLED_UP * EXTREMES


def to_plain(points: SeriesPoints) -> bytes:
    """Encode a few points as fast as possible: big-endian columns, like Postgres's `int8send`."""
    count = len(points)
    return pack(
        f">c{3 * count}q{count}d", _PLAIN, *points.seqs, *points.steps, *points.times_ms, *points.values
    )


def to_packed(points: Columns) -> bytes:
    """Encode many points: differences of the integers, each column's bytes grouped by significance, compressed.

    Steps, record numbers and times then cost almost nothing; the values remain.
    """
    table = np.empty((_COLUMNS, len(points)), dtype="<i8")
    for row, column in enumerate((points.seqs, points.steps, points.times_ms)):
        # Differences of 64-bit numbers may wrap around, and their sums wrap back.
        table[row] = np.diff(column, prepend=np.int64(0))
    table[3] = points.values.view(np.int64)
    planes = table.view(np.uint8).reshape(_COLUMNS, len(points), 8).transpose(0, 2, 1)
    return _PACKED + zlib.compress(planes.tobytes(), _LEVEL)


def from_bytes(body: bytes) -> Columns:
    """Decode a chunk, bit for bit, in the original order."""
    if body[:1] == _PLAIN:
        return _columns(np.frombuffer(body, dtype=">i8", offset=1).astype(np.int64).reshape(_COLUMNS, -1))
    planes = np.frombuffer(zlib.decompress(memoryview(body)[1:]), dtype=np.uint8).reshape(_COLUMNS, 8, -1)
    table = planes.transpose(0, 2, 1).copy().view("<i8").reshape(_COLUMNS, -1).astype(np.int64, copy=False)
    np.cumsum(table[:3], axis=1, out=table[:3])
    return _columns(table)


def _columns(table: Ints) -> Columns:
    return Columns(table[0], table[1], table[2], table[3].view(np.float64))

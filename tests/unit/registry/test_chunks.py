"""A series' points as the bytes in which they are kept."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, strategies as st

from services.registry.series.core.chunks import (
    MOST_POINTS,
    ROLLED_UP,
    Columns,
    from_bytes,
    is_long,
    join,
    roll_up,
    roll_up_of,
    split,
    to_packed,
    to_plain,
)
from services.registry.series.core.downsample import choose_points
from services.registry.series.core.report_columns import SeriesPoints
from tests.support.points import arrived

_INT = st.integers(-(2**63), 2**63 - 1)
_POINTS = st.lists(st.tuples(_INT, _INT, _INT, st.floats()), min_size=1, max_size=40).map(arrived)


def _bits(points: Columns) -> list[tuple[int, int, int, bytes]]:
    """NaN equals itself here, and -0.0 is not 0.0."""
    columns = (points.seqs.tolist(), points.steps.tolist(), points.times_ms.tolist())
    values = [struct.pack(">d", value) for value in points.values.tolist()]
    return list(zip(*columns, values, strict=True))


@given(_POINTS)
def test_points_come_back_bit_for_bit(points: SeriesPoints) -> None:
    columns = Columns.of(points)
    assert _bits(from_bytes(to_plain(points))) == _bits(columns)
    assert _bits(from_bytes(to_packed(columns))) == _bits(columns)


def test_plain_points_are_as_postgres_makes_them_of_rows() -> None:
    """The migration writes them: a zero, then big-endian columns."""
    assert to_plain(arrived([(1, 2, 3, 0.5), (4, 5, 6, -1.0)])) == b"\x00" + struct.pack(
        ">6q2d", 1, 4, 2, 5, 3, 6, 0.5, -1.0
    )


def test_a_step_s_points_stay_in_the_order_of_their_reports() -> None:
    points = Columns.of(arrived([(3, 7, 0, 30.0), (1, 7, 0, 10.0), (2, 1, 0, 20.0)])).sorted()
    assert points.values.tolist() == [20.0, 10.0, 30.0]


def test_a_long_series_is_cut_into_full_chunks() -> None:
    whole = _line(2 * MOST_POINTS + 5)
    parts = split(whole)
    assert [len(part) for part in parts] == [MOST_POINTS, MOST_POINTS, 5]
    assert _bits(join(parts)) == _bits(whole)


def test_noise_costs_a_third_of_its_columns() -> None:
    generator = np.random.default_rng(1)
    at = np.arange(1000)
    times = 1_790_000_000_000 + np.cumsum(generator.integers(80, 120, 1000))
    packed = to_packed(Columns(at, at * 10, times, generator.normal(size=1000)))
    assert len(packed) < 1000 * 32 / 3


def test_a_roll_up_keeps_spikes_and_what_is_no_number() -> None:
    points = _line(MOST_POINTS)
    points.values[1000], points.values[2000], points.values[3000] = 1e9, -1e9, math.nan
    body = roll_up_of(points)
    assert body is not None
    rolled = from_bytes(body)
    assert len(rolled) <= MOST_POINTS // ROLLED_UP
    assert {0, 1000, 2000, 3000, MOST_POINTS - 1} <= set(rolled.steps.tolist())
    assert roll_up_of(_line(100)) is None


@pytest.mark.parametrize("most", [20, 100])
def test_a_curve_of_roll_ups_looks_as_the_one_of_all_points(most: int) -> None:
    at = np.arange(400_000)
    values = np.sin(at / 30_000) + np.random.default_rng(3).normal(0, 0.05, len(at))
    whole = Columns(at, at, at, values)
    assert is_long(len(whole), most)
    rolled = join([roll_up(part) for part in split(whole)])
    drawn = [_drawn(points, most) for points in (whole, rolled)]
    assert np.abs(drawn[0] - drawn[1]).mean() < 0.15


def _drawn(points: Columns, most: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Its height at a hundred places, as a line chart has it."""
    chosen = choose_points(points.steps.astype(float), points.values, most)
    return np.interp(np.linspace(0, 399_999, 100), points.steps[chosen], points.values[chosen])


def _line(count: int) -> Columns:
    at = np.arange(count)
    return Columns(at, at, at, at / 1000)

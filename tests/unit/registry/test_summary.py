"""What a series amounts to, however its points arrive."""

import math

import numpy as np
from hypothesis import given, strategies as st

from services.registry.series.core.chunks import Columns, thin
from services.registry.series.core.summary import Points, Summary, cut, merge, summarise, summarise_sorted

_points = st.lists(st.tuples(st.integers(0, 20), st.floats(-1e6, 1e6) | st.just(math.nan)), min_size=1)


def test_a_nan_is_counted_and_hides_nothing() -> None:
    summary = summarise([1, 2, 3, 4], [2.0, math.nan, 4.0, math.inf])
    assert summary is not None
    assert (
        summary.count,
        summary.finite,
        summary.least,
        summary.greatest,
        summary.mean,
    ) == (4, 2, 2.0, 4.0, 3.0)
    assert (summary.last, summary.last_step) == (math.inf, 4)
    assert summary.best(smaller_is_better=True) == 2.0
    assert summary.best(smaller_is_better=False) == 4.0


def test_only_nans_have_neither_best_nor_mean() -> None:
    summary = summarise([1], [math.nan])
    assert summary is not None
    assert math.isnan(summary.mean)
    assert math.isnan(summary.best(smaller_is_better=True))
    assert summarise([], []) is None


def test_last_is_the_highest_step_and_the_later_report_wins_it() -> None:
    summary = summarise([5, 3, 5, 4], [1.0, 2.0, 3.0, 4.0])
    assert summary is not None
    assert (summary.last, summary.last_step) == (3.0, 5)


@given(_points, _points)
def test_merging_batches_equals_one_batch(
    earlier: list[tuple[int, float]], later: list[tuple[int, float]]
) -> None:
    whole, first, second = (
        _summary(earlier + later),
        _summary(earlier),
        _summary(later),
    )
    merged = merge(first, second)
    assert _exact(merged) == _exact(whole)
    assert math.isclose(merged.total, whole.total, abs_tol=1e-3)


def _summary(points: list[tuple[int, float]]) -> Summary:
    summary = summarise(*zip(*points, strict=True))
    assert summary is not None
    return summary


def _exact(summary: Summary) -> tuple[object, ...]:
    return (
        summary.count,
        summary.finite,
        summary.least,
        summary.greatest,
        repr(summary.last),
        summary.last_step,
    )


_NOTHING: Points = (np.empty(0, np.int64), np.empty(0))


def _series(values: list[float], first: int = 1) -> Points:
    return np.arange(first, first + len(values)), np.array(values, float)


def _thinned(points: Points) -> Points:
    zeros = np.zeros(len(points[0]), np.int64)
    left = thin(Columns(zeros, points[0], zeros, points[1]))
    return left.steps, left.values


def _whole(points: Points) -> Summary:
    summary = summarise_sorted(*points)
    assert summary is not None
    return summary


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 31), st.integers(0, 31))
def test_what_is_cut_off_is_as_if_it_had_not_been(values: list[float], first: int, second: int) -> None:
    """Also of what was cut before: what no longer counts is still stored."""
    points = _series(values)
    assert cut(_whole(points), points, _NOTHING, first) == summarise_sorted(
        points[0][:first], points[1][:first]
    )
    once = cut(_whole(points), points, _NOTHING, first)
    least = min(first, second)
    if once is not None:
        found = cut(once, points, _NOTHING, second)
        assert found == summarise_sorted(points[0][:least], points[1][:least])


def test_of_a_thinned_series_a_roll_back_takes_off_what_came_after_it() -> None:
    """Ten thousand points of which a sixteenth is left, and a hundred new ones of which fifty no longer count."""
    old = _series([math.sin(step) for step in range(10_000)])
    new = _series([5.0] * 100, 10_001)
    whole = merge(_whole(old), _whole(new))
    found = cut(whole, new, _thinned(old), 10_050)
    exact = merge(_whole(old), _whole(_series([5.0] * 50, 10_001)))
    assert found is not None
    assert (found.count, found.finite, found.last_step) == (exact.count, exact.finite, 10_050)
    assert math.isclose(found.mean, exact.mean, abs_tol=1e-9)
    assert (found.least, found.greatest) == (exact.least, 5.0)
    within = cut(whole, new, _thinned(old), 4_000)
    assert within is not None and within.greatest <= 1.0, "the greatest was cut off"
    assert abs(within.count - 4_000) < 50 and within.last_step <= 4_000


def test_what_is_gone_by_age_stays_in_the_summary() -> None:
    old, new = _series([1.0, 9.0, 2.0]), _series([3.0, 4.0], 4)
    found = cut(merge(_whole(old), _whole(new)), new, _NOTHING, 4)
    assert found == Summary(4, 4, 1.0, 9.0, 15.0, 3.0, 4, 1)
    before = cut(merge(_whole(old), _whole(new)), new, _NOTHING, 3)
    assert before is not None and (before.count, before.greatest, before.first_step) == (3, 9.0, 1)
    assert math.isnan(before.last)

"""What a series amounts to, however its points arrive."""

import math

from hypothesis import given, strategies as st

from services.registry.core.summary import Summary, merge, summarise

_points = st.lists(st.tuples(st.integers(0, 20), st.floats(-1e6, 1e6) | st.just(math.nan)), min_size=1)


def test_a_nan_is_counted_and_hides_nothing() -> None:
    summary = summarise([(1, 2.0), (2, math.nan), (3, 4.0), (4, math.inf)])
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
    summary = summarise([(1, math.nan)])
    assert summary is not None
    assert math.isnan(summary.mean)
    assert math.isnan(summary.best(smaller_is_better=True))
    assert summarise([]) is None


def test_last_is_the_highest_step_and_the_later_report_wins_it() -> None:
    summary = summarise([(5, 1.0), (3, 2.0), (5, 3.0)])
    assert summary is not None
    assert (summary.last, summary.last_step) == (3.0, 5)


@given(_points, _points)
def test_merging_batches_equals_one_batch(
    earlier: list[tuple[int, float]], later: list[tuple[int, float]]
) -> None:
    whole, first, second = (
        summarise(earlier + later),
        summarise(earlier),
        summarise(later),
    )
    assert whole is not None and first is not None and second is not None
    merged = merge(first, second)
    assert _exact(merged) == _exact(whole)
    assert math.isclose(merged.total, whole.total, abs_tol=1e-3)


def _exact(summary: Summary) -> tuple[object, ...]:
    return (
        summary.count,
        summary.finite,
        summary.least,
        summary.greatest,
        repr(summary.last),
        summary.last_step,
    )

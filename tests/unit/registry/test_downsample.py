"""Fewer points of the same shape."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from services.registry.series.core.downsample import choose_points


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=300),
    st.integers(1, 60),
)
def test_ends_are_kept_order_too_and_never_more_than_asked(values: list[float], most: int) -> None:
    steps = np.arange(len(values), dtype=np.float64)
    chosen = choose_points(steps, np.array(values), most)
    assert len(chosen) == min(most, len(values))
    assert (np.diff(chosen) > 0).all()
    assert chosen[-1] == len(values) - 1
    if most > 1:
        assert chosen[0] == 0


def test_a_spike_and_a_nan_survive() -> None:
    values = np.sin(np.arange(10_000) / 500)
    values[4_321], values[7_777] = 50.0, np.nan
    chosen = set(choose_points(np.arange(10_000, dtype=np.float64), values, 100).tolist())
    assert {4_321, 7_777} <= chosen


def test_the_paper_s_rule_on_one_bucket() -> None:
    steps, values = np.arange(5.0), np.array([0.0, 1.0, -3.0, 2.0, 0.0])
    assert choose_points(steps, values, 3).tolist() == [0, 2, 4]


def test_nothing_may_be_asked_for_less_than_one_point() -> None:
    with pytest.raises(ValueError, match="at least one"):
        choose_points(np.arange(3.0), np.arange(3.0), 0)

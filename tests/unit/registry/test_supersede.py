"""Which points count after a roll-back."""

import random

import pytest
from hypothesis import given, strategies as st

from services.registry.core.supersede import (
    NOTHING,
    Attempt,
    is_current,
    plan_boundaries,
)


@pytest.mark.parametrize(
    ("resumed", "boundaries"),
    [
        ([None], [None]),
        ([None, None], [None, None]),
        ([NOTHING, 30], [30, None]),
        ([NOTHING, NOTHING], [NOTHING, None]),
        ([NOTHING, 30, 20], [20, 20, None]),
        ([NOTHING, 30, 60], [30, 60, None]),
        ([NOTHING, 30, None], [30, None, None]),
    ],
)
def test_each_run_counts_to_the_lowest_step_from_which_a_later_one_resumed(
    resumed: list[int | None], boundaries: list[int | None]
) -> None:
    attempts = [Attempt(number, step) for number, step in enumerate(resumed, start=1)]
    assert plan_boundaries(attempts) == dict(enumerate(boundaries, start=1))


@given(st.lists(st.none() | st.integers(-1, 50), min_size=1, max_size=6), st.randoms())
def test_no_step_counts_twice_when_runs_report_past_their_resumption(
    resumed: list[int | None], shuffler: random.Random
) -> None:
    attempts = [Attempt(number, step) for number, step in enumerate(resumed, start=1) if step is not None]
    shuffled = list(attempts)
    shuffler.shuffle(shuffled)
    boundaries = plan_boundaries(shuffled)
    counted = [
        step
        for attempt in attempts
        for step in range((attempt.resumed_from or 0) + 1, 60)
        if attempt.resumed_from is not None and is_current(step, boundaries[attempt.number])
    ]
    assert len(counted) == len(set(counted))


def test_the_step_resumed_from_itself_still_counts() -> None:
    assert is_current(30, 30)
    assert not is_current(31, 30)
    assert not is_current(0, NOTHING)

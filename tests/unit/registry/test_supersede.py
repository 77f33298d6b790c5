"""Which points count after a roll-back."""

import random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from services.registry.series.core.superseded_points import (
    NOTHING,
    RunStart,
    choose_newest,
    is_current,
    is_repeated,
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
    attempts = [RunStart(number, step) for number, step in enumerate(resumed, start=1)]
    assert plan_boundaries(attempts) == dict(enumerate(boundaries, start=1))


@given(st.lists(st.none() | st.integers(-1, 50), min_size=1, max_size=6), st.randoms())
def test_no_step_counts_twice_when_runs_report_past_their_resumption(
    resumed: list[int | None], shuffler: random.Random
) -> None:
    attempts = [RunStart(number, step) for number, step in enumerate(resumed, start=1) if step is not None]
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


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4))))
def test_of_a_step_the_newest_run_counts(reported: list[tuple[int, int]]) -> None:
    points = sorted(reported)
    newest = {step: max(run for at, run in points if at == step) for step, _ in points}
    steps, runs = (np.array([point[place] for point in points], dtype=np.int64) for place in (0, 1))
    assert choose_newest(steps, runs).tolist() == [run == newest[step] for step, run in points]


@given(st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=4), max_size=4))
def test_a_step_reported_twice_is_never_missed(runs: list[list[int]]) -> None:
    counted = [step for steps in runs for step in set(steps)]
    if not is_repeated([(min(steps), max(steps)) for steps in runs]):
        assert len(counted) == len(set(counted))


def test_runs_that_follow_on_each_other_repeat_nothing() -> None:
    assert not is_repeated([(1, 14), (15, 30), (31, 31)])
    assert is_repeated([(1, 14), (14, 30)])

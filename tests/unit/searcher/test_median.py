"""Median stopping, held against a plain reading of its rule."""

import math
import random
from statistics import fmean, median_high

from hypothesis import given, settings, strategies as st

from muster.config import MedianStopping as Config
from services.searcher.core.methods.median import MedianStopping

MAX_TIME, GRACE = 8, 3


def method(min_trials: int = 3, interval: int = 1, grace_time: int = GRACE) -> MedianStopping:
    made = MedianStopping(
        Config(
            name="median_stopping", metric="loss", max_trials=100, time_metric="step", max_time=MAX_TIME,
            min_trials=min_trials, interval=interval, grace_time=grace_time,
        )
    )  # fmt: skip
    for trial in range(1, 101):
        made.on_created(trial, 0)
    return made


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), min_trials=st.integers(1, 5))
def test_a_trial_is_stopped_exactly_when_its_best_is_worse_than_the_median_of_the_others(
    seed: int, min_trials: int
) -> None:
    chance, made = random.Random(seed), method(min_trials)
    curves: dict[int, list[float]] = {}
    going = dict.fromkeys(range(1, 13), True)
    while any(going.values()):
        trial = chance.choice([one for one, is_ongoing in going.items() if is_ongoing])
        curve = curves.setdefault(trial, [])
        others = [
            fmean(one[: len(curve) + 1])
            for name, one in curves.items()
            if name != trial and len(one) > len(curve)
        ]
        curve.append(
            chance.randrange(1024) / 1024
        )  # Exact in sums, so that ties are ties in whatever order they are added.
        time = len(curve)
        decision = made.on_result(trial, curve[-1], time)
        is_worse = time >= GRACE and len(others) >= min_trials and min(curve) > median_high(others)
        assert (decision.stop, decision.reached_max_time) == (is_worse or time == MAX_TIME, time == MAX_TIME)
        assert decision.decide_at == (None if decision.stop else time + 1)
        going[trial] = not decision.stop


def test_nothing_is_stopped_in_its_grace_time_or_while_there_are_few_to_compare_with() -> None:
    made = method(min_trials=2)
    made.on_result(1, 0.1, 1)
    assert not made.on_result(2, 9.0, 2).stop
    for trial in (3, 4):
        made.on_result(trial, 0.1, GRACE)
    assert not made.on_result(5, 9.0, GRACE - 1).stop
    assert made.on_result(5, 9.0, GRACE).stop


def test_what_is_no_number_is_worse_than_anything() -> None:
    made = method(min_trials=1)
    made.on_result(1, 5.0, GRACE)
    assert made.on_result(2, math.inf, GRACE).stop
    assert not made.on_result(3, 5.0, GRACE).stop
    made.on_result(4, math.inf, 1)
    assert not made.on_result(4, 1.0, GRACE + 1).stop  # Its best counts, whatever came before.


def test_one_result_may_pass_several_marks() -> None:
    made = method(interval=3)
    assert made.on_result(1, 1.0, 7).decide_at == MAX_TIME
    decision = made.on_result(1, 1.0, 20)
    assert decision.stop and decision.reached_max_time

from fractions import Fraction
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from muster.config import AdaptiveAsha
from services.searcher.core.methods.halving import (
    choose_rungs,
    equal_concurrency,
    floor_log,
    initial_trials,
    notes_of_rungs,
    plan_brackets,
    planned_stops,
    rung_targets,
)
from tests.unit.searcher.world import Fields, adaptive, asha, config, median

Mode = Literal["standard", "aggressive", "conservative"]


def searcher(max_trials: int, max_time: int, mode: Mode = "standard", **more: Any) -> AdaptiveAsha:
    return AdaptiveAsha(
        name="adaptive_asha",
        metric="m",
        time_metric="t",
        max_trials=max_trials,
        max_time=max_time,
        mode=mode,
        **more,
    )


BRACKETS = [
    (16, 100_000, "standard", [(3, 12, 8), (2, 4, 8)]),
    (64, 1024, "standard", [(4, 45, 6), (3, 14, 5), (2, 5, 5)]),
    (500, 100_000, "standard", [(5, 354, 6), (4, 110, 5), (3, 36, 5)]),
    (1000, 937, "conservative", [(5, 680, 4), (4, 211, 3), (3, 70, 3), (2, 26, 3), (1, 13, 3)]),
]
STOPS = [
    (16, 100_000, "standard", {6250: 9, 25000: 5, 100000: 2}),
    (64, 1024, "standard", {16: 34, 64: 20, 256: 7, 1024: 3}),
    (500, 100_000, "standard", {390: 266, 1562: 149, 6250: 65, 25000: 16, 100000: 4}),
    (500, 100_000, "aggressive", {390: 375, 1562: 94, 6250: 24, 25000: 6, 100000: 1}),
]


@pytest.mark.parametrize(("max_trials", "max_time", "mode", "expected"), BRACKETS)
def test_brackets_are_determineds(max_trials: int, max_time: int, mode: Mode, expected: object) -> None:
    chosen = searcher(max_trials, max_time, mode)
    brackets = plan_brackets(chosen)
    concurrent = equal_concurrency(chosen, tuple(bracket.max_trials for bracket in brackets))
    found = [(b.rungs, b.max_trials, c) for b, c in zip(brackets, concurrent, strict=True)]
    assert found == expected


@pytest.mark.parametrize(("max_trials", "max_time", "mode", "expected"), STOPS)
def test_planned_stops_are_determineds(max_trials: int, max_time: int, mode: Mode, expected: object) -> None:
    chosen = searcher(max_trials, max_time, mode)
    assert planned_stops(plan_brackets(chosen), max_time, chosen.divisor) == expected


def test_rung_targets() -> None:
    assert rung_targets(9, 3, 3) == (1, 3, 9)
    assert rung_targets(100_000, 4, 3) == (6250, 25000, 100000)
    assert rung_targets(10, 4, 5) == (1, 1, 1, 2, 10)
    assert rung_targets(7, 2.5, 2) == (2, 7)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            asha(rungs=5),
            ("searcher.num_rungs: the 5 rungs are at 1, 1, 1, 3, 9; only 3 of these times are distinct",),
        ),
        (asha(rungs=3), ()),
        (
            adaptive(max_time=9, bracket_rungs=[1, 4]),
            ("searcher.bracket_rungs: the 4 rungs are at 1, 1, 2, 9; only 3 of these times are distinct",),
        ),
        (adaptive(max_time=3), ()),
        (median(), ()),
    ],
)
def test_rungs_that_come_together_are_said(chosen: Fields, said: tuple[str, ...]) -> None:
    assert notes_of_rungs(config(chosen).searcher) == said


@given(base=st.integers(2, 10), power=st.integers(0, 12))
def test_logarithms_are_exact_on_whole_numbers(base: int, power: int) -> None:
    assert floor_log(base**power, base) == power
    if base**power > 1:
        assert floor_log(base**power - 1, base) == power - 1


def test_a_thousand_trials_by_tens_give_four_rungs() -> None:
    # log(1000)/log(10) is 2.9999… in floating point; Determined loses a rung there.
    chosen = searcher(1000, 1000, "aggressive", divisor=10)
    assert choose_rungs(chosen) == (4,)


@given(
    max_trials=st.integers(1, 3000),
    max_time=st.integers(1, 10**7),
    mode=st.sampled_from(["aggressive", "standard", "conservative"]),
    divisor=st.floats(1.1, 12),
    max_rungs=st.integers(1, 12),
    rungs=st.lists(st.integers(1, 8), max_size=12),
    concurrent=st.integers(0, 40),
)
def test_brackets_use_every_trial_and_never_more(
    max_trials: int, max_time: int, mode: Mode, divisor: float, max_rungs: int, rungs: Any, concurrent: int
) -> None:
    chosen = searcher(
        max_trials,
        max_time,
        mode,
        divisor=divisor,
        max_rungs=max_rungs,
        bracket_rungs=[min(each, max_time) for each in rungs],
        max_concurrent_trials=concurrent,
    )
    brackets = plan_brackets(chosen)
    assert sum(bracket.max_trials for bracket in brackets) == max_trials
    assert all(1 <= bracket.initial <= bracket.max_trials for bracket in brackets)
    assert [b.rungs for b in brackets] == sorted((b.rungs for b in brackets), reverse=True)


@given(max_time=st.integers(1, 10**9), divisor=st.floats(1.1, 20), rungs=st.integers(1, 10))
def test_targets_rise_to_max_time(max_time: int, divisor: float, rungs: Any) -> None:
    targets = rung_targets(max_time, divisor, rungs)
    assert targets[-1] == max_time
    assert list(targets) == sorted(targets)
    assert targets[0] == max(1, int(max_time / Fraction(divisor) ** (rungs - 1)))


def test_unlimited_concurrency_starts_one_full_rung() -> None:
    assert initial_trials(1000, 0, 4, 4) == 64
    assert initial_trials(10, 0, 4, 4) == 10
    assert initial_trials(10, 3, 4, 4) == 3

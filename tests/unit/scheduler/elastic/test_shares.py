"""Who gets the slots: everybody's minimum first, then where they do most, and nobody is resized for little."""

import numpy as np
from hypothesis import given, strategies as st

from services.scheduler.core.planning.elastic.shares import Claim, distribute

SIZES = (1, 2, 4, 8)


def claim(power: float, held: int = 0, after_resize: float = 1.0, weight: float = 1.0) -> Claim:
    return Claim(SIZES, np.array(SIZES) ** power, held, after_resize, weight)


def test_equals_share_equally() -> None:
    assert distribute([claim(0.9)] * 4, 16) == [4, 4, 4, 4]


def test_who_speeds_up_more_gets_more() -> None:
    good, poor = distribute([claim(1.0), claim(0.1)], 9)
    assert (good, poor) == (8, 1)


def test_minima_come_first_and_in_order() -> None:
    assert distribute([claim(1.0)] * 5, 3) == [1, 1, 1, 0, 0]


def test_a_dip_is_crossed_when_what_lies_behind_is_worth_it() -> None:
    dips = Claim((1, 2, 4), np.array([1.0, 0.9, 3.0]), held=0)
    assert distribute([dips], 4) == [4]
    assert distribute([dips], 3) == [1]


def test_a_run_is_not_resized_for_little() -> None:
    little = Claim((4, 8), np.array([1.0, 1.2]), held=4, after_resize=0.8)
    assert distribute([little], 8) == [4]
    assert distribute([Claim((4, 8), np.array([1.0, 1.9]), held=4, after_resize=0.8)], 8) == [8]


def test_what_had_more_service_counts_less() -> None:
    assert distribute([claim(0.9, weight=0.1), claim(0.9)], 9) == [1, 8]


def test_the_more_fairness_the_more_even() -> None:
    sums = distribute([claim(1.0), claim(0.3)], 9, fairness=0.0)
    fair = distribute([claim(1.0), claim(0.3)], 9, fairness=4.0)
    assert sums[0] > fair[0]
    assert sums[1] <= fair[1]


claims = st.lists(
    st.builds(
        claim,
        st.floats(0, 1.5),
        st.sampled_from((0, *SIZES)),
        st.floats(0, 1),
        st.floats(0.01, 1),
    ),
    max_size=12,
)


@given(claims, st.integers(0, 64), st.sampled_from((0.0, 1.0, 2.0)))
def test_never_more_than_there_is_and_only_allowed_sizes(
    asked: list[Claim], slots: int, fairness: float
) -> None:
    shares = distribute(asked, slots, fairness)
    assert sum(shares) <= slots
    assert all(share in (0, *one.sizes) for share, one in zip(shares, asked, strict=True))
    assert sum(share > 0 for share in shares) == min(len(asked), slots)
    assert shares == distribute(asked, slots, fairness)


@given(st.lists(st.floats(0.1, 1.0), min_size=2, max_size=3), st.integers(2, 14))
def test_no_other_distribution_is_better(powers: list[float], slots: int) -> None:
    """By the sum of logarithms, over all distributions; but for what one step of the greatest size may leave over."""
    asked = [claim(power) for power in powers]
    if slots < len(asked):
        return
    found = distribute(asked, slots)

    def value(shares: tuple[int, ...]) -> float:
        return sum(power * float(np.log(share)) for power, share in zip(powers, shares, strict=True))

    everything = [()]
    for _ in asked:
        everything = [(*so_far, size) for so_far in everything for size in SIZES]  # type: ignore[misc]
    best = max(value(shares) for shares in everything if sum(shares) <= slots)
    assert value(tuple(found)) >= best - max(powers) * float(np.log(2)) - 1e-9

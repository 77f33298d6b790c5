"""What is learnt of a run's steps: known laws are found again, and what was never seen is taken to be good."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from services.scheduler.core.state.indexes.elastic.throughput import (
    FARTHER,
    Throughput,
    Timing,
    fit_throughput,
)

LAW = Throughput(compute=(0.1, 0.01), within=(0.05, 0.002), between=(0.2, 0.01), gamma=1.5)
ALLOCATIONS = ((1, 1), (1, 2), (1, 4), (2, 8), (4, 16))


def timing(law: Throughput, machines: int, slots: int, per_slot: int) -> Timing:
    return Timing(machines, slots, per_slot, step_s(law, machines, slots, per_slot), 0.1 + 0.01 * per_slot)


def step_s(model: Throughput, machines: int, slots: int, per_slot: int, rounds: int = 1) -> float:
    arrays = (np.array([value]) for value in (machines, slots, per_slot, rounds))
    return float(model.step_s(*arrays)[0])


def test_a_law_is_found_again_from_its_timings() -> None:
    model = fit_throughput([timing(LAW, m, s, size) for m, s in ALLOCATIONS for size in (8, 16, 32)])
    for machines, slots, size in [(1, 3, 20), (3, 12, 24), (8, 32, 16)]:
        assert step_s(model, machines, slots, size) == pytest.approx(
            step_s(LAW, machines, slots, size), rel=0.1
        )


def test_with_one_slot_seen_more_slots_are_taken_to_cost_nothing() -> None:
    model = fit_throughput([timing(LAW, 1, 1, 16)])
    assert step_s(model, 4, 16, 16) == pytest.approx(step_s(LAW, 1, 1, 16))


def test_with_one_batch_seen_half_of_the_computing_is_taken_to_be_constant() -> None:
    model = fit_throughput([timing(LAW, 1, 1, 16)])
    seen = 0.1 + 0.01 * 16
    assert step_s(model, 1, 1, 32) == pytest.approx(seen * 1.5)


def test_until_a_second_machine_was_seen_it_is_a_little_farther_than_the_first() -> None:
    model = fit_throughput([timing(LAW, 1, slots, size) for slots in (1, 2, 4) for size in (8, 32)])
    assert model.between == pytest.approx((model.within[0] * FARTHER, model.within[1] * FARTHER))


def test_two_slots_say_nothing_of_how_gangs_slow_down() -> None:
    model = fit_throughput([timing(LAW, 1, slots, size) for slots in (1, 2) for size in (8, 32)])
    assert model.within[1] == 0


def test_further_rounds_cost_their_computing_only() -> None:
    model = fit_throughput([timing(LAW, m, s, size) for m, s in ALLOCATIONS for size in (8, 16, 32)])
    one, three = step_s(model, 2, 8, 16), step_s(model, 2, 8, 16, rounds=3)
    assert three - one == pytest.approx(2 * (0.1 + 0.01 * 16), rel=0.05)


measured = st.builds(
    lambda shape, per_slot, compute, sync: Timing(shape[0], max(shape), per_slot, compute + sync, compute),
    st.tuples(st.integers(1, 16), st.integers(1, 64)),
    st.integers(1, 4096),
    st.floats(1e-4, 100),
    st.floats(0, 100),
)


@given(st.lists(measured, min_size=1, max_size=12))
def test_any_reports_give_steps_that_take_time(timings: list[Timing]) -> None:
    model = fit_throughput(timings)
    assert 1 <= model.gamma <= 10
    for machines, slots in ((1, 1), (1, 8), (16, 64)):
        small, large = (step_s(model, machines, slots, size) for size in (1, 100))
        assert 0 < small <= large < float("inf")

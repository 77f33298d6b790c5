"""The batch is as large as the noise makes it worth, and never larger than allowed."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from services.scheduler.core.state.indexes.elastic.goodput import (
    BatchLimits,
    GradientNoise,
    predict_goodput,
    split_batch,
)
from services.scheduler.core.state.indexes.elastic.throughput import Throughput

LIMITS = BatchLimits(first_batch=64, last_batch=4096, least_per_slot=8, most_per_slot=256)
MODEL = Throughput(compute=(0.05, 0.001), within=(0.1, 0.0), between=(0.3, 0.0))


def best(noise: GradientNoise, machines: int, slots: int, limits: BatchLimits = LIMITS) -> tuple[float, int]:
    found = predict_goodput(MODEL, noise, limits, np.array([machines]), np.array([slots]))
    return float(found.goodput[0]), int(found.per_slot[0] * found.rounds[0] * slots)


def test_a_quiet_gradient_wants_the_smallest_batch_a_noisy_one_the_largest() -> None:
    assert best(GradientNoise(1, 0), 1, 4)[1] == LIMITS.first_batch
    assert best(GradientNoise(0, 1), 1, 4)[1] == LIMITS.last_batch


def test_without_noise_more_slots_gain_nothing() -> None:
    assert best(GradientNoise(1, 0), 2, 8)[0] < best(GradientNoise(1, 0), 1, 1)[0]


def test_what_a_step_teaches_lies_between_one_step_and_its_share_of_samples() -> None:
    batches = np.array([64, 128, 1024])
    gain = GradientNoise(1, 3).gain(batches, 64)
    assert gain[0] == 1
    assert (gain[1:] > 1).all()
    assert (gain[1:] < batches[1:] / 64).all()


def test_a_fixed_batch_is_kept() -> None:
    fixed = BatchLimits(first_batch=256, last_batch=256, least_per_slot=1, most_per_slot=256)
    assert best(GradientNoise(0, 1), 1, 4, fixed)[1] == 256


def test_more_than_fits_is_computed_in_rounds() -> None:
    split = split_batch(4096, 4, LIMITS)
    assert (split.per_slot, split.rounds) == (256, 4)


def test_a_single_slot_measures_noise_by_two_rounds() -> None:
    assert split_batch(64, 1, LIMITS).rounds == 1
    assert split_batch(128, 1, LIMITS).rounds == 2


def test_too_many_slots_for_the_largest_batch_achieve_nothing() -> None:
    assert best(GradientNoise(0, 1), 256, LIMITS.most_slots * 2)[0] == 0


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(1, 64), st.integers(1, 512))
def test_the_batch_stays_within_its_limits(sqr: float, var: float, machines: int, slots: int) -> None:
    goodput, batch = best(GradientNoise(sqr, var), min(machines, slots), slots)
    if slots <= LIMITS.most_slots:
        assert goodput > 0
        assert LIMITS.first_batch <= batch + slots
        assert batch <= LIMITS.last_batch


@given(st.integers(1, 5000), st.integers(1, 512))
def test_a_split_batch_loses_no_samples_but_at_the_limit(batch: int, slots: int) -> None:
    split = split_batch(batch, slots, LIMITS)
    assert split.total(slots) <= max(LIMITS.last_batch, slots * split.rounds)
    if batch <= LIMITS.last_batch - slots * split.rounds:
        assert split.total(slots) >= batch
    assert split.per_slot <= LIMITS.most_per_slot


def test_rounding_keeps_close_to_the_wanted_batch() -> None:
    assert split_batch(1000, 3, LIMITS).total(3) == pytest.approx(1000, rel=0.01)

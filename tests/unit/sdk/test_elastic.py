"""The gradient noise scale of problems whose noise is known, and the batch size that follows from it."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st

from muster import Trial
from muster.elastic import BatchLimits, Elastic, NoiseScale, choose_per_rank
from muster.elastic.batch_tuning import MEASURE_EVERY
from muster.errors import Rejected

SIZE = 400
"""Parameters of the problem: gradients are `signal` in each of them, plus noise of a known deviation for each sample."""


def gradients(signal: float, deviation: float, batch: int, seed: int = 0) -> Iterator[np.ndarray[Any, Any]]:
    """Averages over `batch` samples each."""
    source = np.random.default_rng(seed)
    while True:
        yield signal + deviation / batch**0.5 * source.standard_normal(SIZE)


def known(grad_sqr: float, grad_var: float) -> NoiseScale:
    """As after many measurements."""
    noise = NoiseScale()
    for _ in range(100):
        noise.add(grad_sqr + grad_var / 8, 8, grad_sqr + grad_var / 64, 64)
    return noise


@pytest.mark.parametrize(("signal", "deviation"), [(1.0, 4.0), (0.1, 2.0), (3.0, 1.0)])
def test_ranks_that_are_compared_with_their_average_find_the_noise(signal: float, deviation: float) -> None:
    noise, own = NoiseScale(), gradients(signal, deviation, batch=16)
    for _ in range(400):
        ranks = [next(own) for _ in range(4)]
        small = float(np.mean([gradient @ gradient for gradient in ranks]))
        average = np.mean(ranks, axis=0)
        noise.add(small, 16, float(average @ average), 64)
    assert noise.grad_sqr == pytest.approx(SIZE * signal**2, rel=0.2)
    assert noise.grad_var == pytest.approx(SIZE * deviation**2, rel=0.1)
    assert noise.samples == pytest.approx((deviation / signal) ** 2, rel=0.25)


def test_exact_norms_give_exact_estimates_and_what_overflowed_is_left_out() -> None:
    noise = known(grad_sqr=2.0, grad_var=100.0)
    noise.add(float("inf"), 8, float("nan"), 64)
    assert (noise.grad_sqr, noise.grad_var) == pytest.approx((2.0, 100.0))
    assert noise.samples == pytest.approx(50.0)


def test_little_is_concluded_from_little() -> None:
    noise = NoiseScale()
    noise.add(2.0, 8, 1.0, 16)
    assert not noise.is_known
    assert noise.gain(1024, 64) == 1.0


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 1000), st.integers(1, 100))
def test_a_gain_is_between_one_and_the_growth_of_the_batch(
    sqr: float, var: float, first: int, times: int
) -> None:
    gain = known(sqr, var).gain(first * times, first)
    assert 1 - 1e-6 <= gain <= times * (1 + 1e-6)


LIMITS = BatchLimits(first=64, last=4096, least_per_rank=8, most_per_rank=1024)


def test_much_noise_asks_for_large_batches_and_little_for_small_ones() -> None:
    times = {16: 0.11, 256: 0.2}
    noisy, clean = known(1.0, 1e6), known(1.0, 1.0)
    assert choose_per_rank(noisy, LIMITS, 4, times) == 512
    assert choose_per_rank(clean, LIMITS, 4, times) == 16
    between = choose_per_rank(known(1.0, 400.0), LIMITS, 4, times)
    assert 16 < between < 512


def test_a_batch_at_most_doubles_what_was_tried_and_keeps_every_limit() -> None:
    noisy = known(1.0, 1e9)
    assert choose_per_rank(noisy, LIMITS, 1, {64: 0.1}) == 128
    assert choose_per_rank(noisy, LIMITS, 1, {64: 0.1, 1024: 0.12}) == 1024
    assert choose_per_rank(noisy, LIMITS, 64, {64: 0.1}) == 64
    assert choose_per_rank(NoiseScale(), LIMITS, 2, {32: 0.1}) == 32
    assert choose_per_rank(noisy, LIMITS, 16, {}) == 8


def test_where_steps_take_their_time_by_the_sample_a_larger_batch_is_worth_nothing_alone() -> None:
    assert choose_per_rank(known(1.0, 100.0), LIMITS, 1, {64: 0.64, 128: 1.28}) == 64


class Alone:
    """A trial of one rank, without a platform."""

    rank, size = 0, 1
    _gang = _channel = None


def elastic_of(parameters: list[torch.Tensor], **more: Any) -> Elastic:
    sizes = {"batch_size": 32, "max_batch_size": 1024} | more
    return Elastic(cast(Trial, Alone()), parameters, **sizes)


def train(elastic: Elastic, weights: torch.Tensor, steps: int, signal: float, deviation: float) -> None:
    """Steps on a loss whose gradient is `signal` everywhere, plus noise for each sample."""
    source = torch.Generator().manual_seed(1)
    for _ in range(steps):
        noise = torch.randn(elastic.per_rank, SIZE, generator=source) * deviation
        weights.grad = None
        ((noise.mean(0) + signal) * weights).sum().backward()  # type: ignore[no-untyped-call]
        elastic.after_step()


def test_one_rank_finds_the_noise_by_comparing_steps() -> None:
    weights = torch.zeros(SIZE, requires_grad=True)
    elastic = elastic_of([weights])
    train(elastic, weights, 4000, signal=0.5, deviation=4.0)
    assert elastic.noise.samples == pytest.approx(64.0, rel=0.3)
    assert elastic.gain == pytest.approx(1.0)


def test_what_was_learnt_is_kept_in_a_checkpoint() -> None:
    weights = torch.zeros(SIZE, requires_grad=True)
    elastic = elastic_of([weights])
    train(elastic, weights, 300, signal=0.1, deviation=20.0)
    assert elastic.choose_batch() > 32
    again = elastic_of([weights])
    again.load_state_dict(elastic.state_dict())
    assert again.noise.samples == elastic.noise.samples
    assert again.per_rank == elastic.per_rank
    assert again.gain > 1


def test_misuse_is_told() -> None:
    weights = torch.zeros(SIZE, requires_grad=True)
    elastic = elastic_of([weights])
    for _ in range(MEASURE_EVERY - 2):
        elastic.after_step()
    with pytest.raises(Rejected, match=r"before optimizer\.zero_grad"):
        elastic.after_step()
    with pytest.raises(Rejected, match=r"not a valid range"):
        elastic_of([weights], batch_size=64, max_batch_size=32)

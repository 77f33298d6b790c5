"""The gradient noise scale, which tells how much a larger batch helps. Arithmetic only; `batch_tuning` measures the gradients.

After McCandlish et al., "An Empirical Model of Large-Batch Training" (arXiv:1812.06162), appendix A.1; the gain of a batch size
after AdaScale (Johnson et al., arXiv:2007.05105) and Pollux (Qiao et al., OSDI 2021, section 3.1).
"""

from dataclasses import dataclass

SMOOTHING = 0.95
"""Smoothing factor of the running averages, per measurement."""
ENOUGH = 10
"""Measurements needed before the estimate is used."""


@dataclass(slots=True)
class NoiseScale:
    """Running estimates of |G|², the squared norm of the true gradient, and tr(Σ), the variance of one sample's gradient.

    Both are averaged separately, because each is unbiased and their quotient is not; averages are bias-corrected as in Adam.
    """

    weighed_sqr: float = 0.0
    weighed_var: float = 0.0
    count: int = 0

    def add(self, small_sqr: float, small_batch: float, big_sqr: float, big_batch: float) -> None:
        """Add the squared norms of two gradients of the same loss, averaged over `small_batch` and `big_batch` samples.

            |G|²  ≈  (B |g_B|² - b |g_b|²) / (B - b)
            tr(Σ) ≈  (|g_b|² - |g_B|²) / (1/b - 1/B)

        `small_sqr` may be the mean over several small batches. Non-finite values (overflows) are ignored.
        """
        sqr = (big_batch * big_sqr - small_batch * small_sqr) / (big_batch - small_batch)
        var = (small_sqr - big_sqr) / (1 / small_batch - 1 / big_batch)
        if not (abs(sqr) < float("inf") and abs(var) < float("inf")):
            return
        self.weighed_sqr = SMOOTHING * self.weighed_sqr + (1 - SMOOTHING) * sqr
        self.weighed_var = SMOOTHING * self.weighed_var + (1 - SMOOTHING) * var
        self.count += 1

    @property
    def is_known(self) -> bool:
        return self.count >= ENOUGH

    @property
    def grad_sqr(self) -> float:
        """|G|², at least 0."""
        return max(self.weighed_sqr / self._seen, 0.0) if self.count else 0.0

    @property
    def grad_var(self) -> float:
        """tr(Σ) of one sample; for a batch of n samples, divide by n."""
        return max(self.weighed_var / self._seen, 0.0) if self.count else 0.0

    @property
    def samples(self) -> float:
        """The simple noise scale B = tr(Σ) / |G|², in samples: far below it, gain grows in proportion to the batch; far above, not at all."""
        if not self.grad_sqr:
            return float("inf") if self.grad_var else 0.0
        return self.grad_var / self.grad_sqr

    def gain(self, batch: float, first_batch: float) -> float:
        """Return the gain of a step of `batch` samples, in steps of `first_batch`: from 1 to batch / first_batch.

            gain = (tr(Σ)/first + |G|²) / (tr(Σ)/batch + |G|²)

        Returns 1 while the noise scale is unknown.
        """
        below = self.grad_var / batch + self.grad_sqr
        return (self.grad_var / first_batch + self.grad_sqr) / below if self.is_known and below > 0 else 1.0

    @property
    def _seen(self) -> float:
        return 1 - float(SMOOTHING**self.count)

"""The gradient noise scale: how much a larger batch teaches. Arithmetic only; where the gradients come from is `batch_tuning`'s part.

After McCandlish et al., "An Empirical Model of Large-Batch Training" (arXiv:1812.06162), appendix A.1; the gain of a batch size after
AdaScale (Johnson et al., arXiv:2007.05105) and Pollux (Qiao et al., OSDI 2021, section 3.1).
"""

from dataclasses import dataclass

SMOOTHING = 0.95
"""Of the running averages, for each measurement."""
ENOUGH = 10
"""Measurements before anything is concluded: a single one says next to nothing."""


@dataclass(slots=True)
class NoiseScale:
    """Running estimates of |G|², the true gradient's squared norm, and of tr(Σ), the variance of one sample's gradient.

    Both are averaged apart, since each is unbiased and their quotient is not; the averages are corrected for their start at 0, as in Adam.
    """

    weighed_sqr: float = 0.0
    weighed_var: float = 0.0
    count: int = 0

    def add(self, small_sqr: float, small_batch: float, big_sqr: float, big_batch: float) -> None:
        """Takes in the squared norms of two gradients of the same loss, averaged over `small_batch` and `big_batch` samples.

            |G|²  ≈  (B |g_B|² - b |g_b|²) / (B - b)
            tr(Σ) ≈  (|g_b|² - |g_B|²) / (1/b - 1/B)

        `small_sqr` may itself be the mean over several small batches. Values that are not finite (an overflow) are left out.
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
        """|G|²; not below 0, where noise alone was seen."""
        return max(self.weighed_sqr / self._seen, 0.0) if self.count else 0.0

    @property
    def grad_var(self) -> float:
        """tr(Σ) of one sample; that of a batch of n is its n-th part."""
        return max(self.weighed_var / self._seen, 0.0) if self.count else 0.0

    @property
    def samples(self) -> float:
        """The simple noise scale B = tr(Σ) / |G|², in samples: far below it a larger batch teaches in proportion, far above nothing more."""
        if not self.grad_sqr:
            return float("inf") if self.grad_var else 0.0
        return self.grad_var / self.grad_sqr

    def gain(self, batch: float, first_batch: float) -> float:
        """What a step of `batch` samples teaches, in steps of `first_batch`: from 1 to batch / first_batch.

            gain = (tr(Σ)/first + |G|²) / (tr(Σ)/batch + |G|²)

        1 while nothing is known.
        """
        below = self.grad_var / batch + self.grad_sqr
        return (self.grad_var / first_batch + self.grad_sqr) / below if self.is_known and below > 0 else 1.0

    @property
    def _seen(self) -> float:
        return 1 - float(SMOOTHING**self.count)

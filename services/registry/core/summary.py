"""What a series amounts to: count, least, greatest, mean, last and best. Merged, never recomputed from all points."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Summary:
    """The points of one series, summed up.

    `count` holds every point; `finite`, `least`, `greatest` and `total` only the finite ones, so that one NaN does
    not hide a curve. `last` is the value at the highest step (the later report wins a tie) and may be NaN;
    `first_step` is the lowest.
    """

    count: int
    finite: int
    least: float
    greatest: float
    total: float
    last: float
    last_step: int
    first_step: int

    @property
    def mean(self) -> float:
        """Mean of the finite values; NaN without one."""
        return self.total / self.finite if self.finite else math.nan

    def best(self, *, smaller_is_better: bool) -> float:
        """The least or greatest finite value; NaN without one."""
        if not self.finite:
            return math.nan
        return self.least if smaller_is_better else self.greatest


def summarise(points: Iterable[tuple[int, float]]) -> Summary | None:
    """Return the summary of (step, value) pairs in the order of their reporting; None for none."""
    count = finite = last_step = first_step = 0
    least, greatest, total, last = math.inf, -math.inf, 0.0, math.nan
    for step, value in points:
        if count == 0 or step >= last_step:
            last, last_step = value, step
        if count == 0 or step < first_step:
            first_step = step
        count += 1
        if math.isfinite(value):
            finite += 1
            total += value
            least, greatest = min(least, value), max(greatest, value)
    return Summary(count, finite, least, greatest, total, last, last_step, first_step) if count else None


def summarise_sorted(steps: NDArray[np.int64], values: NDArray[np.float64]) -> Summary | None:
    """The same of columns, by step and within a step in the order of their reporting."""
    if not len(steps):
        return None
    finite = values[np.isfinite(values)]
    return Summary(
        count=len(values),
        finite=len(finite),
        least=float(finite.min(initial=math.inf)),
        greatest=float(finite.max(initial=-math.inf)),
        total=float(finite.sum()),
        last=float(values[-1]),
        last_step=int(steps[-1]),
        first_step=int(steps[0]),
    )


def merge(earlier: Summary, later: Summary) -> Summary:
    """Return the summary of two series' points together; `later` wins where both end at the same step."""
    newest = later if later.last_step >= earlier.last_step else earlier
    return Summary(
        count=earlier.count + later.count,
        finite=earlier.finite + later.finite,
        least=min(earlier.least, later.least),
        greatest=max(earlier.greatest, later.greatest),
        total=earlier.total + later.total,
        last=newest.last,
        last_step=newest.last_step,
        first_step=min(earlier.first_step, later.first_step),
    )

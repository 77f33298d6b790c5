"""Summary of a series: count, minimum, maximum, mean, last and best. Merged, never recomputed from all points."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Points = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Steps and values, of equal length."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of the points of one series.

    `count` includes all points; `finite`, `least`, `greatest` and `total` only the finite ones, so that one NaN does
    not hide a curve. `last` is the value at the highest step (the later report wins a tie) and may be NaN;
    `first_step` is the lowest step.
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
        """Return the minimum or maximum finite value; NaN without one."""
        if not self.finite:
            return math.nan
        return self.least if smaller_is_better else self.greatest


def summarise(steps: Sequence[int], values: Sequence[float]) -> Summary | None:
    """Return the summary of points in reporting order; None without points."""
    if not steps:
        return None
    finite, total = values, sum(values, 0.0)
    if not math.isfinite(total):
        finite = [value for value in values if math.isfinite(value)]
        total = sum(finite, 0.0)
    last_step = max(steps)
    from_the_end = 0 if steps[-1] == last_step else steps[::-1].index(last_step)
    return Summary(
        count=len(values),
        finite=len(finite),
        least=min(finite, default=math.inf),
        greatest=max(finite, default=-math.inf),
        total=total,
        last=values[-1 - from_the_end],
        last_step=last_step,
        first_step=min(steps),
    )


def summarise_sorted(steps: NDArray[np.int64], values: NDArray[np.float64]) -> Summary | None:
    """Return the summary of columns sorted by step, and within a step in reporting order."""
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
    """Return the summary of both series' points; `later` wins if both end at the same step."""
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


def cut(whole: Summary, plain: Points, thinned: Points, last_step: int) -> Summary | None:
    """Return the summary of the points up to a step; None if there are none.

    Exact if all points are stored. If some were thinned or have expired, the points that no longer count are subtracted from the summary. A
    thinned point stands for as many as it replaced, so count and mean are approximate, and minimum and maximum are those known.

    Args:
        whole: Summary of the series up to its last step; stored points beyond that no longer count.
        plain: Stored points by step, and within a step in reporting order.
        thinned: Points that remain after thinning, in the same order.
    """
    plain, thinned = (_between(points, None, whole.last_step) for points in (plain, thinned))
    remaining = [_between(points, None, last_step) for points in (plain, thinned)]
    known = _merged([summarise_sorted(*points) for points in remaining])
    if len(plain[0]) + len(thinned[0]) == whole.count:
        return known
    weight = (whole.count - len(plain[0])) / len(thinned[0]) if len(thinned[0]) else 0.0
    removed = [
        _weighted(summarise_sorted(*_between(points, last_step, None)), times)
        for points, times in ((plain, 1.0), (thinned, weight))
    ]
    count = whole.count - round(sum(one.count for one in removed))
    if count <= 0:
        return known
    finite = max(0, whole.finite - round(sum(one.finite for one in removed)))
    least, greatest = (known.least, known.greatest) if known else (math.inf, -math.inf)
    return Summary(
        count=count,
        finite=min(finite, count),
        least=least if any(one.least <= whole.least for one in removed) else whole.least,
        greatest=greatest if any(one.greatest >= whole.greatest for one in removed) else whole.greatest,
        total=whole.total - sum(one.total for one in removed) if finite else 0.0,
        last=known.last if known else math.nan,
        last_step=known.last_step if known else last_step,
        first_step=whole.first_step,
    )


@dataclass(frozen=True, slots=True)
class _Removed:
    count: float = 0.0
    finite: float = 0.0
    total: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf


def _weighted(summary: Summary | None, times: float) -> _Removed:
    if summary is None:
        return _Removed()
    counts = (summary.count * times, summary.finite * times, summary.total * times)
    return _Removed(*counts, summary.least, summary.greatest)


def _merged(summaries: Iterable[Summary | None]) -> Summary | None:
    return reduce(merge, found) if (found := [one for one in summaries if one]) else None


def _between(points: Points, after: int | None, upto: int | None) -> Points:
    """Return sorted points after one step, up to another."""
    steps, values = points
    first = 0 if after is None else int(np.searchsorted(steps, after, "right"))
    last = len(steps) if upto is None else int(np.searchsorted(steps, upto, "right"))
    return steps[first:last], values[first:last]

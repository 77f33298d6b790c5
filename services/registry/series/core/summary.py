"""What a series amounts to: count, least, greatest, mean, last and best. Merged, never recomputed from all points."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Points = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Steps and values, of one length."""


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


def summarise(steps: Sequence[int], values: Sequence[float]) -> Summary | None:
    """Return the summary of points in the order of their reporting; None for none."""
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


def cut(whole: Summary, plain: Points, thinned: Points, last_step: int) -> Summary | None:
    """Return the summary of what of a series counts up to a step; None for nothing.

    Exact while all its points are there. Where some were thinned or are gone by age, what no longer counts is taken off the summary: a point
    that was left of many stands for as many as they were, so that count and mean are near, and the least and the greatest are those known.

    Args:
        whole: the series up to its own last step; points beyond that one count no more and may be there.
        plain: stored points by step, and within a step in the order of their reporting.
        thinned: those that are left of more, likewise.
    """
    plain, thinned = (_between(points, None, whole.last_step) for points in (plain, thinned))
    stays = [_between(points, None, last_step) for points in (plain, thinned)]
    known = _merged([summarise_sorted(*points) for points in stays])
    if len(plain[0]) + len(thinned[0]) == whole.count:
        return known
    weight = (whole.count - len(plain[0])) / len(thinned[0]) if len(thinned[0]) else 0.0
    gone = [
        _weighted(summarise_sorted(*_between(points, last_step, None)), times)
        for points, times in ((plain, 1.0), (thinned, weight))
    ]
    count = whole.count - round(sum(one.count for one in gone))
    if count <= 0:
        return known
    finite = max(0, whole.finite - round(sum(one.finite for one in gone)))
    least, greatest = (known.least, known.greatest) if known else (math.inf, -math.inf)
    return Summary(
        count=count,
        finite=min(finite, count),
        least=least if any(one.least <= whole.least for one in gone) else whole.least,
        greatest=greatest if any(one.greatest >= whole.greatest for one in gone) else whole.greatest,
        total=whole.total - sum(one.total for one in gone) if finite else 0.0,
        last=known.last if known else math.nan,
        last_step=known.last_step if known else last_step,
        first_step=whole.first_step,
    )


@dataclass(frozen=True, slots=True)
class _Gone:
    count: float = 0.0
    finite: float = 0.0
    total: float = 0.0
    least: float = math.inf
    greatest: float = -math.inf


def _weighted(summary: Summary | None, times: float) -> _Gone:
    if summary is None:
        return _Gone()
    counts = (summary.count * times, summary.finite * times, summary.total * times)
    return _Gone(*counts, summary.least, summary.greatest)


def _merged(summaries: Iterable[Summary | None]) -> Summary | None:
    return reduce(merge, found) if (found := [one for one in summaries if one]) else None


def _between(points: Points, after: int | None, upto: int | None) -> Points:
    """Sorted points behind one step, up to another."""
    steps, values = points
    first = 0 if after is None else int(np.searchsorted(steps, after, "right"))
    last = len(steps) if upto is None else int(np.searchsorted(steps, upto, "right"))
    return steps[first:last], values[first:last]

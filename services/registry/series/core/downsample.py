"""Fewer points of the same shape: Largest Triangle Three Buckets.

S. Steinarsson, Downsampling Time Series for Visual Representation, 2013, section 4.2. We deviate in two things: a value
that is not finite wins its bucket, because a divergence must be seen and has no area; and of many points the least and
the greatest of each stretch are chosen first, the triangles among them (J. Van Der Donckt et al., MinMaxLTTB, 2023, with
their ratio of 4: to the eye the same, at a tenth of the time).
"""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

EXACT = 6
"""Up to so many points for each that is wanted, the triangles are looked for among all of them."""
EXTREMES = 4
"""Of more, so many are chosen first for each that is wanted."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def choose_points(steps: Floats, values: Floats, most: int) -> Indices:
    """Return the indices of at most `most` points, ascending, the first and the last among them.

    Args:
        steps: ascending, shape (n,).
        values: shape (n,); may hold NaN and infinities.
        most: at least 1; 1 keeps the last point, 2 the first and the last.
    """
    count = len(steps)
    if most < 1:
        raise ValueError(f"at least one point must be allowed, not {most}")
    if count <= most:
        return np.arange(count)
    if most <= 2:
        return np.array([0, count - 1][-most:], dtype=np.intp)
    if count <= EXACT * most:
        return _largest_triangles(steps, values, most)
    places = choose_extremes(values, EXTREMES * most)
    return places[_largest_triangles(steps[places], values[places], most)]


def choose_extremes(values: Floats, most: int) -> Indices:
    """Return the indices of the ends and of each stretch's least and greatest value, ascending, at most `most` (at least 2).

    What is not finite counts as its stretch's greatest.
    """
    count = len(values)
    if count <= most:
        return np.arange(count)
    if most < 4:
        return np.array([0, count - 1], dtype=np.intp)
    stretches = (most - 2) // 2
    size = -(-(count - 2) // stretches)
    padded = np.full(stretches * size, np.nan)
    padded[: count - 2] = values[1:-1]
    finite = np.isfinite(padded)
    finite[count - 2 :] = True  # the padding is no value that must be seen
    table = padded.reshape(stretches, size)
    low = np.argmin(np.where(np.isfinite(table), table, np.inf), axis=1)
    high = np.argmax(
        np.where(finite.reshape(stretches, size), np.where(np.isnan(table), -np.inf, table), np.inf), axis=1
    )
    starts = np.arange(stretches) * size + 1
    found = np.unique(np.concatenate([[0], starts + low, starts + high, [count - 1]]))
    chosen: Indices = found[found < count]
    return chosen


def _largest_triangles(steps: Floats, values: Floats, most: int) -> Indices:
    count = len(steps)
    edges = _bucket_edges(count, most)
    # Which triangle is the largest does not depend on the scale, and sums of huge values would overflow.
    values = values / _greatest(values)
    means = [column.tolist() for column in _means(steps, values, edges)]
    ends, x, y = edges.tolist(), steps.tolist(), values.tolist()
    chosen = [0]
    # Plain numbers: the buckets are small, and a call of numpy for each costs more than all of its points.
    for bucket in range(most - 2):
        span = range(ends[bucket], ends[bucket + 1])
        chosen.append(_choose(x, y, span, chosen[-1], (means[0][bucket + 1], means[1][bucket + 1])))
    chosen.append(count - 1)
    return np.array(chosen, dtype=np.intp)


def _greatest(values: Floats) -> np.float64:
    """The greatest magnitude among the finite values; 1 where there is none but 0."""
    greatest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    return np.float64(greatest or 1.0)


def _bucket_edges(count: int, most: int) -> NDArray[np.intp]:
    """Edges of the inner buckets: bucket b holds the indices edges[b] to edges[b + 1], the last is the end point."""
    inner = np.linspace(1, count - 1, most - 1).astype(np.intp)
    return np.append(inner, count)


def _means(steps: Floats, values: Floats, edges: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Mean step and mean finite value of each bucket; 0 where no value is finite."""
    is_finite = np.isfinite(values)
    sizes = np.diff(edges)
    finite = np.add.reduceat(is_finite.astype(np.float64), edges[:-1])
    totals = np.add.reduceat(np.where(is_finite, values, 0.0), edges[:-1])
    return np.add.reduceat(steps, edges[:-1]) / sizes, totals / np.maximum(finite, 1.0)


def _choose(
    steps: list[float], values: list[float], span: range, previous: int, following: tuple[float, float]
) -> int:
    step, base = steps[previous], values[previous]
    if not isfinite(base):
        base = 0.0
    run, rise = step - following[0], following[1] - base
    best, largest = span.start, -1.0
    for place in span:
        value = values[place]
        if not isfinite(value):
            return place
        area = abs(run * (value - base) - (step - steps[place]) * rise)
        if area > largest:
            best, largest = place, area
    return best

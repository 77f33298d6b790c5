"""Downsampling of curves with Largest Triangle Three Buckets.

S. Steinarsson, Downsampling Time Series for Visual Representation, 2013, section 4.2. Two deviations: a value
that is not finite wins its bucket, because a divergence must be visible and has no area; and from many points the minimum and
maximum of each range are preselected (J. Van Der Donckt et al., MinMaxLTTB, 2023, with their ratio of 4: visually equal, in a
tenth of the time).
"""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

EXACT = 6
"""Up to this many points per selected one, triangles are computed over all points."""
EXTREMES = 4
"""Above that, this many points per selected one are preselected."""

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


def choose_points(steps: Floats, values: Floats, most: int) -> Indices:
    """Return the indices of at most `most` points, ascending, including the first and the last.

    Args:
        steps: Ascending, shape (n,).
        values: Shape (n,); may contain NaN and infinities.
        most: At least 1; 1 keeps the last point, 2 the first and the last.
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
    selected = choose_extremes(values, EXTREMES * most)
    return selected[_largest_triangles(steps[selected], values[selected], most)]


def choose_extremes(values: Floats, most: int) -> Indices:
    """Return the indices of both end points and of each range's minimum and maximum, ascending, at most `most` (at least 2).

    A value that is not finite counts as its range's maximum.
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
    finite[count - 2 :] = True  # the padding must not count as not finite
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
    # Scaling does not change which triangle is the largest, and prevents overflow for huge values.
    values = values / _greatest(values)
    means = [column.tolist() for column in _means(steps, values, edges)]
    bounds, x, y = edges.tolist(), steps.tolist(), values.tolist()
    chosen = [0]
    # Plain numbers: buckets are small, and a numpy call for each costs more than its points.
    for bucket in range(most - 2):
        span = range(bounds[bucket], bounds[bucket + 1])
        chosen.append(_choose(x, y, span, chosen[-1], (means[0][bucket + 1], means[1][bucket + 1])))
    chosen.append(count - 1)
    return np.array(chosen, dtype=np.intp)


def _greatest(values: Floats) -> np.float64:
    """Return the greatest magnitude of the finite values; 1 if there is none but 0."""
    greatest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    return np.float64(greatest or 1.0)


def _bucket_edges(count: int, most: int) -> NDArray[np.intp]:
    """Return the edges of the inner buckets: bucket b holds the indices edges[b] to edges[b + 1]; the last one is the end point."""
    inner = np.linspace(1, count - 1, most - 1).astype(np.intp)
    return np.append(inner, count)


def _means(steps: Floats, values: Floats, edges: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return mean step and mean finite value of each bucket; 0 if no value is finite."""
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
    for index in span:
        value = values[index]
        if not isfinite(value):
            return index
        area = abs(run * (value - base) - (step - steps[index]) * rise)
        if area > largest:
            best, largest = index, area
    return best

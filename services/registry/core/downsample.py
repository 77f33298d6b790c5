"""Fewer points of the same shape: Largest Triangle Three Buckets.

S. Steinarsson, Downsampling Time Series for Visual Representation, 2013, section 4.2. We deviate in one thing: a value
that is not finite wins its bucket, because a divergence must be seen and has no area.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def choose_points(steps: Floats, values: Floats, most: int) -> NDArray[np.intp]:
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
    edges = _bucket_edges(count, most)
    # Which triangle is the largest does not depend on the scale, and sums of huge values would overflow.
    values = values / _greatest(values)
    mean_steps, mean_values = _means(steps, values, edges)
    chosen = np.empty(most, dtype=np.intp)
    chosen[0], chosen[-1] = 0, count - 1
    for bucket in range(most - 2):
        span = slice(edges[bucket], edges[bucket + 1])
        following = (mean_steps[bucket + 1], mean_values[bucket + 1])
        chosen[bucket + 1] = edges[bucket] + _choose(steps, values, span, chosen[bucket], following)
    return chosen


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
    steps: Floats,
    values: Floats,
    span: slice,
    previous: np.intp,
    following: tuple[np.float64, np.float64],
) -> np.intp:
    candidates = values[span]
    is_odd = ~np.isfinite(candidates)
    if is_odd.any():
        return np.argmax(is_odd)
    step, value = steps[previous], values[previous]
    base = value if np.isfinite(value) else 0.0
    areas = np.abs((step - following[0]) * (candidates - base) - (step - steps[span]) * (following[1] - base))
    return np.argmax(areas)

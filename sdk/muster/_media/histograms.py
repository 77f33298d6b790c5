"""Histograms with bins of equal width, or with bins counted by the script, and moments of all values."""

import itertools
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from muster._media.content import Content
from muster.errors import Rejected

BINS = 64
MAX_BINS = 1_024


@dataclass(frozen=True, slots=True)
class _Counted:
    """A histogram. `edges` has one more entry than `counts`; None means equal widths from `least` to `greatest`. `others` counts non-finite values."""

    counts: list[int]
    least: float
    greatest: float
    sum: float
    sum_squares: float
    others: int = 0
    edges: list[float] | None = None


def histogram_of(values: object, bins: int = BINS) -> Content:
    """Return a histogram of a tensor (counted on its device), an array, numbers, or (counts, edges) as returned by `numpy.histogram`.

    Raises:
        Rejected: The values have another type, or there are too many bins.
    """
    if not 0 < bins <= MAX_BINS:
        raise Rejected("bins_invalid", f"bins must be from 1 to {MAX_BINS}, not {bins!r}", place="bins")
    if isinstance(values, tuple) and len(values) == 2 and _is_counted(values):
        counted = _take_over(values[0], values[1])
    elif hasattr(values, "detach"):
        counted = _count_tensor(values, bins)
    elif hasattr(values, "dtype"):
        counted = _count_array(values, bins)
    else:
        counted = _count_numbers(values, bins)
    facts = {name: _bounded(value) for name, value in asdict(counted).items() if value is not None}
    body = json.dumps(facts, separators=(",", ":"), allow_nan=False).encode()
    return Content("application/json", body, {"count": sum(counted.counts)})


def _count_tensor(tensor: Any, bins: int) -> _Counted:
    """Count a tensor on its device; only the counts leave the device."""
    flat = tensor.detach().reshape(-1).float()
    finite = flat[flat.isfinite()]
    others = flat.numel() - finite.numel()
    if not finite.numel():
        return _Counted([0], 0.0, 0.0, 0.0, 0.0, others)
    least, greatest = float(finite.min()), float(finite.max())
    if least == greatest:
        count = finite.numel()
        return _Counted([count], least, greatest, least * count, least * least * count, others)
    counts = [int(count) for count in finite.histc(bins, least, greatest).tolist()]
    double = finite.double()
    return _Counted(counts, least, greatest, float(double.sum()), float(double.square().sum()), others)


def _count_array(array: Any, bins: int) -> _Counted:
    import numpy as np

    try:
        flat = np.asarray(array).reshape(-1).astype(np.float64)
    except (TypeError, ValueError):
        raise _not_numbers(array) from None
    finite = flat[np.isfinite(flat)]
    if not finite.size or not 0 < finite.max() / 2 - finite.min() / 2 < sys.float_info.max / 2:
        return _count_numbers(flat.tolist(), bins)
    try:
        with np.errstate(over="ignore"):
            counts, edges = np.histogram(finite, bins)
            total, squares = float(finite.sum()), float(np.square(finite).sum())
    except ValueError:  # fewer representable numbers in the range than bins
        return _count_numbers(flat.tolist(), bins)
    return _Counted(
        counts.tolist(), float(edges[0]), float(edges[-1]), total, squares, int(flat.size - finite.size)
    )


def _count_numbers(values: Any, bins: int) -> _Counted:
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        raise _not_numbers(values) from None
    finite = [number for number in numbers if math.isfinite(number)]
    others = len(numbers) - len(finite)
    if not finite:
        return _Counted([0], 0.0, 0.0, 0.0, 0.0, others)
    least, greatest = min(finite), max(finite)
    total, squares = sum(finite), sum(number * number for number in finite)
    width = greatest / bins - least / bins
    if width == 0:
        return _Counted([len(finite)], least, greatest, total, squares, others)
    counts = [0] * bins
    for number in finite:
        counts[min(bins - 1, int(number / width - least / width))] += 1
    return _Counted(counts, least, greatest, total, squares, others)


def _bounded(value: Any) -> Any:
    """Clamp infinities, which JSON cannot represent."""
    return max(-sys.float_info.max, min(value, sys.float_info.max)) if isinstance(value, float) else value


def _not_numbers(values: object) -> Rejected:
    return Rejected(
        "histogram_invalid",
        f"a histogram needs numbers, not {type(values).__name__} {str(values)[:60]!r}",
        place="values",
    )


def _is_counted(values: tuple[Any, Any]) -> bool:
    return all(hasattr(one, "__len__") for one in values) and len(values[1]) == len(values[0]) + 1


def _take_over(counts: Sequence[Any], edges: Sequence[Any]) -> _Counted:
    numbers, bounds = [int(count) for count in counts], [float(edge) for edge in edges]
    if not 0 < len(numbers) <= MAX_BINS or min(numbers) < 0 or not all(map(math.isfinite, bounds)):
        raise Rejected(
            "bins_invalid",
            f"counted bins need 1 to {MAX_BINS} counts of at least 0 and finite edges",
            place="values",
        )
    if any(later < earlier for earlier, later in itertools.pairwise(bounds)):
        raise Rejected("bins_invalid", "the edges of bins must increase", place="values")
    middles = [(low + high) / 2 for low, high in itertools.pairwise(bounds)]
    total = sum(count * middle for count, middle in zip(numbers, middles, strict=True))
    squares = sum(count * middle * middle for count, middle in zip(numbers, middles, strict=True))
    return _Counted(numbers, bounds[0], bounds[-1], total, squares, edges=bounds)

"""Metric values of the API: NaN and infinities, which JSON lacks, are sent in a separate field."""

import math

from muster.client.models import Checkpoint, MetricPoint, ModelLineage, NotFinite, ReportedValue

_NUMBERS = {
    NotFinite.NAN: math.nan,
    NotFinite.INFINITY: math.inf,
    NotFinite.NEGATIVE_INFINITY: -math.inf,
}


def value_of(point: MetricPoint | ReportedValue) -> float:
    """Return the reported value, including non-finite ones; NaN if the platform does not say which."""
    if point.value is not None:
        return point.value
    return _NUMBERS.get(point.not_finite or NotFinite.NAN, math.nan)


def metrics_of(one: Checkpoint | ModelLineage) -> dict[str, float]:
    """Return the metrics by name, including non-finite ones."""
    return {**one.metrics, **{name: _NUMBERS[which] for name, which in one.not_finite.items()}}

"""What was reported, as a number: JSON has no word for NaN and the infinities, so that they come beside it."""

import math

from muster.client.models import Checkpoint, MetricPoint, ModelLineage, NotFinite, ReportedValue

_NUMBERS = {
    NotFinite.NAN: math.nan,
    NotFinite.INFINITY: math.inf,
    NotFinite.NEGATIVE_INFINITY: -math.inf,
}


def value_of(point: MetricPoint | ReportedValue) -> float:
    """Return what was reported, whatever number it is; of a platform that does not say which, NaN."""
    if point.value is not None:
        return point.value
    return _NUMBERS.get(point.not_finite or NotFinite.NAN, math.nan)


def metrics_of(one: Checkpoint | ModelLineage) -> dict[str, float]:
    """Return what was measured there, by name, whatever numbers they are."""
    return {**one.metrics, **{name: _NUMBERS[which] for name, which in one.not_finite.items()}}

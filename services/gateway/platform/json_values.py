"""Conversions for responses: floats that are not finite, times in milliseconds, and fractional slots."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from shared.messages.trial_specs import WHOLE_SLOT, Thousandths


class NotFinite(StrEnum):
    """A float value that JSON cannot represent."""

    NAN = "nan"
    INFINITY = "infinity"
    NEGATIVE_INFINITY = "negative_infinity"


def finite(value: float) -> float | None:
    """Return the value, or None for NaN and infinities, which JSON cannot represent."""
    return value if math.isfinite(value) else None


def not_finite(value: float) -> NotFinite | None:
    """Return which value `finite` replaced by None; None if the value is finite."""
    if math.isnan(value):
        return NotFinite.NAN
    if math.isinf(value):
        return NotFinite.INFINITY if value > 0 else NotFinite.NEGATIVE_INFINITY
    return None


def finite_only(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def not_finite_only(values: Mapping[str, float]) -> dict[str, NotFinite]:
    """Return the values that `finite_only` leaves out."""
    return {name: kind for name, value in values.items() if (kind := not_finite(value))}


def to_time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def fraction_of(part: Thousandths) -> float | None:
    """Convert thousandths to the share of a slot; None for whole slots."""
    return part / WHOLE_SLOT if part else None

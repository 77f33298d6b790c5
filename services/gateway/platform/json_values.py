"""Values that JSON has no word for, as resources show them: floats that are not finite, and times in milliseconds."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from shared.messages.specs import WHOLE_SLOT, Thousandths


class NotFinite(StrEnum):
    """Which of the values it is that JSON has no word for."""

    NAN = "nan"
    INFINITY = "infinity"
    NEGATIVE_INFINITY = "negative_infinity"


def finite(value: float) -> float | None:
    """None for NaN and infinities, which JSON has no word for."""
    return value if math.isfinite(value) else None


def not_finite(value: float) -> NotFinite | None:
    """What stands beside that None."""
    if math.isnan(value):
        return NotFinite.NAN
    if math.isinf(value):
        return NotFinite.INFINITY if value > 0 else NotFinite.NEGATIVE_INFINITY
    return None


def finite_only(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def not_finite_only(values: Mapping[str, float]) -> dict[str, NotFinite]:
    """What stands beside those."""
    return {name: word for name, value in values.items() if (word := not_finite(value))}


def to_time(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)


def part_of(part: Thousandths) -> float | None:
    """As people write it; none where slots are whole."""
    return part / WHOLE_SLOT if part else None

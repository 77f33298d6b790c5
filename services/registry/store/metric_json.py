"""Metric values as JSON, which has no numbers that are not finite."""

import math
from collections.abc import Mapping

import orjson


def encode_values(values: Mapping[str, float]) -> str:
    """Return metric values as JSON; values that are not finite become strings."""
    return orjson.dumps(
        {name: value if math.isfinite(value) else str(value) for name, value in values.items()}
    ).decode()


def decode_values(values: Mapping[str, float | str]) -> dict[str, float]:
    """Return metric values from JSON."""
    return {name: float(value) for name, value in values.items()}

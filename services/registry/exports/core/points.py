"""Metric points as Arrow rows, without nulls."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SCHEMA = pa.schema(
    [
        ("trial", pa.int32()),
        ("run", pa.int32()),
        ("group", pa.string()),
        ("name", pa.string()),
        ("step", pa.int64()),
        ("time", pa.timestamp("ms", "UTC")),
        ("value", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True)
class MetricPoints:
    """Points of one metric of one trial, by step."""

    trial: int
    group: str
    name: str
    runs: NDArray[np.int64]
    steps: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]


def to_table(metrics: Iterable[MetricPoints]) -> pa.Table:
    """Return the points of these metrics, in order."""
    return pa.concat_tables([SCHEMA.empty_table(), *map(_table, metrics)])


def _table(rows: MetricPoints) -> pa.Table:
    count = len(rows.steps)
    columns = [
        pa.array(np.full(count, rows.trial, np.int32)),
        pa.array(rows.runs.astype(np.int32)),
        pa.repeat(pa.scalar(rows.group), count),
        pa.repeat(pa.scalar(rows.name), count),
        pa.array(rows.steps),
        pa.array(rows.times_ms.astype("datetime64[ms]")).cast(pa.timestamp("ms", "UTC")),
        pa.array(rows.values, from_pandas=False),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)

"""Exports are written piece by piece: a file that is large enough says so, and holds what was put in."""

import io
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.registry.core import exporting
from services.registry.core.exporting import Part, Rows


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_a_part_is_ended_once_it_is_large(
    format: Literal["arrow", "parquet"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "PART_BYTES", 20_000)
    part, count = Part(format), 0
    generator = np.random.default_rng(1)
    while not part.add([_rows(count, generator.normal(size=100))]):
        count += 1
        assert part.rows == 100 * count
    content = part.end()
    table = (
        pq.read_table(io.BytesIO(content)) if format == "parquet" else pa.ipc.open_stream(content).read_all()
    )
    assert 5 < count < 50 and table.num_rows == part.rows == 100 * (count + 1)
    assert table.column("trial").to_pylist() == [number for number in range(count + 1) for _ in range(100)]


def _rows(trial: int, values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Rows:
    steps = np.arange(len(values))
    return Rows(trial, "training", "loss", np.ones(len(values), np.int64), steps, steps * 1000, values)

"""Exports are written piece by piece: a file that is large enough says so, and holds what was put in."""

import io
import math
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import JsonValue

from services.registry.exports.core import files
from services.registry.exports.core.files import ExportFile
from services.registry.exports.core.points import SCHEMA, MetricPoints, to_table
from services.registry.exports.core.trials import make_schema, to_table as to_trials
from services.registry.trial_table.core.columns import Column, Fact, Hyperparameter, Metric, Stat, Values


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_a_part_is_ended_once_it_is_large(
    format: Literal["arrow", "parquet"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 20_000)
    part, count = ExportFile(SCHEMA, format), 0
    generator = np.random.default_rng(1)
    while not part.add(to_table([_rows(count, generator.normal(size=100))])):
        count += 1
        assert part.rows == 100 * count
    content = part.end()
    table = (
        pq.read_table(io.BytesIO(content)) if format == "parquet" else pa.ipc.open_stream(content).read_all()
    )
    assert 5 < count < 50 and table.num_rows == part.rows == 100 * (count + 1)
    assert table.column("trial").to_pylist() == [number for number in range(count + 1) for _ in range(100)]


def _rows(trial: int, values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> MetricPoints:
    steps = np.arange(len(values))
    return MetricPoints(
        trial, "training", "loss", np.ones(len(values), np.int64), steps, steps * 1000, values
    )


def test_trials_have_typed_columns_whatever_their_hyperparameters_are() -> None:
    columns: dict[str, Column] = {
        "created": Fact("created"),
        "hparams.width": Hyperparameter(("width",)),
        "hparams.lr": Hyperparameter(("lr",)),
        "hparams.mixed": Hyperparameter(("mixed",)),
        "hparams.nobody": Hyperparameter(("nobody",)),
        "loss": Metric("training", "loss", Stat.LAST),
        "steps": Metric("training", "loss", Stat.LAST_STEP),
    }
    number = frozenset({"number"})
    values: dict[tuple[str, ...], Values] = {
        ("width",): Values(number, is_whole=True),
        ("lr",): Values(number, is_whole=False),
        ("mixed",): Values(frozenset({"number", "array", "boolean", "string"}), is_whole=True),
    }
    schema = make_schema(columns, values)
    created = "2026-11-22T04:00:00+00:00"
    cells: list[tuple[JsonValue, ...]] = [
        (created, 64.0, 1, [1, "a"], None, math.nan, 10),
        (None, "wide", None, True, None, None, None),
        (created, 32, 0.5, "a", None, -math.inf, 2**40),
    ]
    table = to_trials(schema, [4, 7, 9], cells)
    assert [str(one) for one in schema.types] == [
        "int32", "timestamp[us, tz=UTC]", "int64", "double", "string", "double", "double", "int64",
    ]  # fmt: skip
    assert table.column("trial").to_pylist() == [4, 7, 9]
    assert table.column("created").to_pylist()[0].isoformat() == created
    assert table.column("hparams.width").to_pylist() == [64, None, 32]
    assert table.column("hparams.lr").to_pylist() == [1.0, None, 0.5]
    assert table.column("hparams.mixed").to_pylist() == ['[1,"a"]', "true", "a"]
    loss = table.column("loss")
    assert loss.null_count == 1 and math.isnan(loss[0].as_py()) and loss[2].as_py() == -math.inf
    assert to_trials(schema, [], []).num_rows == 0

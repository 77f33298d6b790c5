"""Points as Arrow: one file is filled with rows until it is large enough."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Format = Literal["arrow", "parquet"]
SUFFIXES: dict[Format, str] = {"arrow": "arrows", "parquet": "parquet"}
"""Of Arrow the stream, which can be read while it comes."""
PART_BYTES = 24 * 1024 * 1024
"""A file is ended once it has so many; in memory there is never more than one of an export."""

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
class Rows:
    """The points of one metric of one trial, by step."""

    trial: int
    group: str
    name: str
    runs: NDArray[np.int64]
    steps: NDArray[np.int64]
    times_ms: NDArray[np.int64]
    values: NDArray[np.float64]


class Part:
    """One file that is being filled. NaN and the infinities stay what they are; nothing is null."""

    def __init__(self, format: Format) -> None:
        self.rows = 0
        self._sink = pa.BufferOutputStream()
        if format == "parquet":
            self._writer = pq.ParquetWriter(self._sink, SCHEMA, compression="zstd")
        else:
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writer = pa.ipc.new_stream(self._sink, SCHEMA, options=options)

    def add(self, metrics: Iterable[Rows]) -> bool:
        """Append rows, in the order given; return whether the file is large enough."""
        tables = [_table(rows) for rows in metrics]
        if tables:
            whole = pa.concat_tables(tables).combine_chunks()
            self.rows += whole.num_rows
            self._writer.write_table(whole)
        return bool(self._sink.tell() >= PART_BYTES)

    def end(self) -> bytes:
        """Return the whole file."""
        self._writer.close()
        return bytes(self._sink.getvalue().to_pybytes())


def _table(rows: Rows) -> pa.Table:
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

"""One file of an export, filled with rows until it is large enough."""

from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

Format = Literal["arrow", "parquet"]
SUFFIXES: dict[Format, str] = {"arrow": "arrows", "parquet": "parquet"}
"""Of Arrow the stream, which can be read while it comes."""
PART_BYTES = 24 * 1024 * 1024
"""A file is ended once it has so many; in memory there is never more than one of an export."""


class ExportFile:
    """One file that is being filled, of tables with one schema. NaN and the infinities stay what they are."""

    def __init__(self, schema: pa.Schema, format: Format) -> None:
        self.rows = 0
        self._sink = pa.BufferOutputStream()
        if format == "parquet":
            self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd")
        else:
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writer = pa.ipc.new_stream(self._sink, schema, options=options)

    def add(self, rows: pa.Table) -> bool:
        """Append rows; return whether the file is large enough."""
        if rows.num_rows:
            self.rows += rows.num_rows
            self._writer.write_table(rows.combine_chunks())
        return bool(self._sink.tell() >= PART_BYTES)

    def end(self) -> bytes:
        """Return the whole file."""
        self._writer.close()
        return bytes(self._sink.getvalue().to_pybytes())

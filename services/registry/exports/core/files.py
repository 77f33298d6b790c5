"""One file of an export, filled with rows until it is large enough."""

from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

Format = Literal["arrow", "parquet"]
SUFFIXES: dict[Format, str] = {"arrow": "arrows", "parquet": "parquet"}
"""Arrow files use the stream format, which can be read while it downloads."""
PART_BYTES = 24 * 1024 * 1024
"""Size at which a file is completed. Only one file of an export is in memory at a time."""


class ExportFile:
    """A file being written, of tables with one schema. NaN and infinities are preserved."""

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

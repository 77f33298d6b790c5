"""Log lines in columns, and packed into objects. `matching` searches columns; `grams` filters objects."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from services.registry.logs.core.ngram_filter import NgramFilter, build_filter

STREAMS = ("stdout", "stderr", "platform")
LEVELS = ("debug", "info", "warning", "error")
NO_LEVEL = -1
PART_BYTES = 128 * 1024
"""Approximate text size of a part, the unit of decompression and matching."""
_TEXT = "text"
_SCHEMA = pa.schema(
    [
        ("time_ms", pa.int64()),
        ("run", pa.int64()),
        ("rank", pa.int64()),
        ("stream", pa.int8()),
        ("level", pa.int8()),
        (_TEXT, pa.string()),
    ]
)
_TEXT_COLUMN = _SCHEMA.get_field_index(_TEXT)
_CODEC = pa.Codec("lz4", compression_level=4)
"""Twice as fast to read as zstd, which matters because a search reads everything, and 50 % larger."""
_MAGIC = b"ARROW1\0\0"
_HEAD = _SCHEMA.serialize().to_pybytes()
"""Header of a stream. Between a file's magic and footer lies a stream, so a part after this header is a stream too."""


@dataclass(frozen=True, slots=True)
class IncomingLine:
    """A log line as received."""

    rank: int
    stream: str
    level: str | None
    time_ms: int
    text: str


Row = tuple[int, str, str | None, int, str]
"""Rank, stream, level, time, text: format of lines stored in the database."""


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A stored log line. `number` counts the trial's lines from 1."""

    number: int
    run: int
    rank: int
    stream: str
    level: str | None
    time_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class ObjectSummary:
    """Summary of an object, by which a search may skip it."""

    lines: int
    text_bytes: int
    since_ms: int
    until_ms: int
    runs: tuple[int, ...]
    ranks: tuple[int, ...]
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Location of the parts in an object: lines per part (the last may have fewer), and the offset of each part, plus that of the end."""

    part_lines: int
    offsets: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def size_bytes(self, part: int) -> int:
        """Return the stored size of a part."""
        return self.offsets[part + 1] - self.offsets[part]


@dataclass(frozen=True, slots=True)
class Packed:
    """Lines packed as an object, with the values for its row."""

    content: bytes
    about: ObjectSummary
    grams: NgramFilter
    layout: Layout


class Block:
    """Consecutive lines of a trial in columns. `first`: number of the first line."""

    def __init__(self, first: int, columns: pa.RecordBatch) -> None:
        self.first = first
        self.columns = columns

    @classmethod
    def of(cls, first: int, run: int, rows: Sequence[Row]) -> "Block":
        """Convert rows to columns."""
        ranks, streams, levels, times, texts = zip(*rows, strict=True)
        columns = [
            pa.array(times, pa.int64()),
            pa.array(np.full(len(rows), run, np.int64)),
            pa.array(ranks, pa.int64()),
            pa.array([STREAMS.index(stream) for stream in streams], pa.int8()),
            pa.array([NO_LEVEL if level is None else LEVELS.index(level) for level in levels], pa.int8()),
            pa.array(texts, pa.string()),
        ]
        return cls(first, pa.record_batch(columns, schema=_SCHEMA))

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    @property
    def texts(self) -> pa.StringArray:
        """The text column."""
        return self.columns.column(_TEXT_COLUMN)

    @property
    def text_bytes(self) -> int:
        """Total size of the text."""
        return int(text_buffer(self.texts).size)

    def numbers(self, column: str) -> np.ndarray:
        """Return a numeric column: `time_ms`, `run`, `rank`, or `stream` and `level` as indices into `STREAMS` and `LEVELS`."""
        return np.asarray(self.columns.column(column))

    def lines(self, indices: Iterable[int]) -> list[KeptLine]:
        """Return the lines at these indices."""
        chosen = self.columns.take(pa.array(indices, pa.int64())).to_pydict()
        return [
            KeptLine(
                self.first + int(index),
                run,
                rank,
                STREAMS[stream],
                None if level == NO_LEVEL else LEVELS[level],
                time_ms,
                text,
            )
            for index, time_ms, run, rank, stream, level, text in zip(indices, *chosen.values(), strict=True)
        ]


@dataclass(frozen=True, slots=True)
class ObjectPart:
    """Lines of an object from number `first` on, decoded on demand; the text separately from the other columns.

    `content`: one part of the object, several neighbouring parts, or the whole object, of which part `place` is meant.
    """

    first: int
    content: bytes
    place: int | None = None

    def texts(self) -> pa.StringArray:
        """Return the text column."""
        return self._read([_TEXT_COLUMN]).column(0)

    def block(self) -> Block:
        """Return the lines with all columns."""
        return Block(self.first, self._read(None))

    def _read(self, columns: list[int] | None) -> pa.RecordBatch:
        if self.place is not None:
            return _open(self.content, columns).get_batch(self.place)
        source = pa.BufferReader(_HEAD + self.content)
        lines = pa.ipc.open_stream(source, options=_options(columns)).read_all()
        return lines.combine_chunks().to_batches()[0]


def parts_of(first: int, content: bytes) -> list[ObjectPart]:
    """Return the parts of a whole object. `first`: number of its first line."""
    whole = _open(content, [_TEXT_COLUMN])
    lines = int(json.loads(whole.schema.metadata[b"lines"]))
    return [ObjectPart(first + index * lines, content, index) for index in range(whole.num_record_batches)]


def pack(blocks: Sequence[Block]) -> Packed:
    """Pack consecutive blocks into an object."""
    whole = pa.Table.from_batches([block.columns for block in blocks]).combine_chunks()
    text_bytes = sum(block.text_bytes for block in blocks)
    batch_lines = max(1, whole.num_rows * PART_BYTES // max(text_bytes, PART_BYTES))
    sink = pa.BufferOutputStream()
    schema = _SCHEMA.with_metadata({"lines": str(batch_lines)})
    options = pa.ipc.IpcWriteOptions(compression=_CODEC, use_threads=False)
    parts = whole.to_batches(max_chunksize=batch_lines)
    offsets = [len(_MAGIC) + len(schema.serialize())]
    with pa.ipc.new_file(sink, schema, options=options) as writer:
        for part in parts:
            writer.write_batch(part.replace_schema_metadata(schema.metadata))
            offsets.append(sink.tell())
    about = _content(Block(0, whole.to_batches()[0]), text_bytes)
    grams = build_filter([text_buffer(part.column(_TEXT_COLUMN)) for part in parts])
    return Packed(sink.getvalue().to_pybytes(), about, grams, Layout(batch_lines, tuple(offsets)))


def text_buffer(texts: pa.StringArray) -> pa.Buffer:
    """Return the text of all lines as one buffer, without separators."""
    offsets = _offsets(texts)
    return (texts.buffers()[2] or pa.py_buffer(b"")).slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _offsets(texts: pa.StringArray) -> np.ndarray:
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]


def _open(content: bytes, columns: list[int] | None) -> pa.ipc.RecordBatchFileReader:
    return pa.ipc.open_file(pa.BufferReader(content), options=_options(columns))


def _options(columns: list[int] | None) -> pa.ipc.IpcReadOptions:
    return pa.ipc.IpcReadOptions(use_threads=False, included_fields=columns)


def _content(block: Block, text_bytes: int) -> ObjectSummary:
    times = block.numbers("time_ms")
    levels = _distinct(block.numbers("level"))
    return ObjectSummary(
        lines=len(block),
        text_bytes=text_bytes,
        since_ms=int(times.min()),
        until_ms=int(times.max()),
        runs=tuple(_distinct(block.numbers("run"))),
        ranks=tuple(_distinct(block.numbers("rank"))),
        levels=tuple(LEVELS[level] for level in levels if level != NO_LEVEL),
    )


def _distinct(numbers: np.ndarray) -> Iterator[int]:
    return map(int, np.unique(numbers))

"""Traces in local files: one JSON object per line, in `<service>-<pid>.jsonl` for each process; `….1` holds older spans.

A line holds `trace_id`, `span_id`, `parent_id` (null for a root), `name`, `service`, `start_ns`, `end_ns` (Unix), `error`
(null on success), `attributes`, and `links` as `[trace_id, span_id]` pairs. `muster trace` reads them.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import orjson
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import StatusCode

DIRECTORY_BYTES = 256 * 1024 * 1024


class FileSpanExporter(SpanExporter):
    """Appends spans; keeps at most two files of `file_bytes` for this process.

    Called by one thread at a time. A full disk loses spans, never the process.
    """

    def __init__(self, directory: Path, service: str, file_bytes: int) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        _drop_oldest(directory, DIRECTORY_BYTES)
        self._path = directory / f"{service}-{os.getpid()}.jsonl"
        self._service = service
        self._file_bytes = file_bytes
        self._file: BinaryIO = self._path.open("ab")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        try:
            self._file.write(b"".join(_line(span, self._service) for span in spans))
            self._file.flush()
            if self._file.tell() >= self._file_bytes:
                self._rotate()
        except (OSError, ValueError):
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self._file.close()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True

    def _rotate(self) -> None:
        self._path.rename(self._path.with_name(self._path.name + ".1"))
        self._file.close()
        self._file = self._path.open("ab")


def _line(span: ReadableSpan, service: str) -> bytes:
    context = span.get_span_context()
    return orjson.dumps(
        {
            "trace_id": f"{context.trace_id:032x}" if context else None,
            "span_id": f"{context.span_id:016x}" if context else None,
            "parent_id": f"{span.parent.span_id:016x}" if span.parent else None,
            "name": span.name,
            "service": service,
            "start_ns": span.start_time,
            "end_ns": span.end_time,
            "error": span.status.description if span.status.status_code is StatusCode.ERROR else None,
            "attributes": dict(span.attributes or {}),
            "links": [
                [f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}"] for link in span.links
            ],
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def _drop_oldest(directory: Path, most_bytes: int) -> None:
    """Delete files of earlier processes, oldest first, until the rest fits; other processes may do so concurrently."""
    total = 0
    for size, path in sorted(_ages(directory), reverse=True):
        total += size[1]
        if total > most_bytes:
            path.unlink(missing_ok=True)


def _ages(directory: Path) -> Iterator[tuple[tuple[float, int], Path]]:
    for path in directory.glob("*.jsonl*"):
        with contextlib.suppress(FileNotFoundError):
            stat = path.stat()
            yield (stat.st_mtime, stat.st_size), path

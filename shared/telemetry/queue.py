"""Queue of spans for an exporter: collected for half a second, then written by one thread.

OpenTelemetry's batch processor wakes twice a second in every process, even when idle; this one sleeps until there are spans. `tracing` sets it up.
"""

import threading
from collections import deque

import structlog
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

QUEUE_SPANS = 8192
"""If spans arrive faster than they can be written, the oldest ones are dropped."""
BATCH_SPANS = 512
GATHER_S = 0.5
END_S = 5.0
_log = structlog.get_logger()


class SpanQueue(SpanProcessor):
    """Feeds one exporter."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._waiting: deque[ReadableSpan] = deque(maxlen=QUEUE_SPANS)
        self._something = threading.Event()
        self._ending = threading.Event()
        self._exporting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def on_end(self, span: ReadableSpan) -> None:
        self._waiting.append(span)
        if not self._something.is_set():
            self._something.set()

    def shutdown(self) -> None:
        """Write the remaining spans and stop."""
        self._ending.set()
        self._something.set()
        self._thread.join(END_S)
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        self._export()
        return True

    def _run(self) -> None:
        while not self._ending.is_set():
            self._something.wait()
            self._ending.wait(GATHER_S)
            # Cleared first: spans that arrive during the export set it again.
            self._something.clear()
            self._export()

    def _export(self) -> None:
        with self._exporting:
            while batch := self._take():
                try:
                    self._exporter.export(batch)
                except Exception:  # noqa: BLE001 - an exporter may fail in any way, and traces must not end a process
                    _log.exception("spans were not exported", spans=len(batch))

    def _take(self) -> list[ReadableSpan]:
        batch: list[ReadableSpan] = []
        while self._waiting and len(batch) < BATCH_SPANS:
            batch.append(self._waiting.popleft())
        return batch

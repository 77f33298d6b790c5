"""Traces of batches."""

from contextlib import AbstractContextManager, nullcontext

from services.registry.core.report_cursors import FIRST_RECORD
from services.registry.ingest.batches import Batch, IncomingBatch
from shared import telemetry
from shared.messages.reports import ReportBatch
from shared.telemetry.tracing import TRACEPARENT


def trace_of(batch: Batch) -> dict[str, str]:
    """Return the run's trace, which started with the request for its experiment; else that of the worker's request."""
    if isinstance(batch, ReportBatch) and batch.traceparent:
        return {TRACEPARENT: batch.traceparent}
    headers: dict[str, str] = {}
    telemetry.inject(headers)
    return headers


def span_of_first(batch: IncomingBatch) -> AbstractContextManager[object]:
    """Return a span for storing a run's first report, the last step of the run's trace; later reports get none."""
    if batch.sent.first != FIRST_RECORD or batch.sent.stream != "reports":
        return nullcontext()
    return telemetry.span(
        "store first report", parent=batch.trace, run=batch.sent.run, trial=batch.facts.trial_id
    )

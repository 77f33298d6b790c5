"""Telemetry: spans that connect a request with every hop (`tracing`), and Prometheus metrics (`metrics`)."""

from shared.telemetry.tracing import (
    TRACE_HEADERS,
    configure,
    extract,
    inject,
    is_traced,
    record,
    same_trace,
    shutdown,
    span,
    trace_id,
)

__all__ = [
    "TRACE_HEADERS",
    "configure",
    "extract",
    "inject",
    "is_traced",
    "record",
    "same_trace",
    "shutdown",
    "span",
    "trace_id",
]

"""OpenTelemetry spans, and the W3C `traceparent` that propagates them in message headers."""

from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime
from uuid import UUID

from opentelemetry import context as contexts, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    StatusCode,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from shared.settings import TelemetrySettings
from shared.telemetry.files import FileSpanExporter
from shared.telemetry.queue import SpanQueue
from shared.telemetry.spans import Recorder

TRACEPARENT = "traceparent"
TRACE_HEADERS = (TRACEPARENT,)

ATTRIBUTES = frozenset(
    {
        "tenant",
        "experiment",
        "trial",
        "run",
        "allocation",
        "worker",
        "pool",
        "instance",
        "checkpoint",
        "model",
    }
    | {"operation", "message", "subject", "consumer", "outcome", "state", "code", "status", "method", "route"}
    | {
        "count",
        "bytes",
        "attempt",
        "rank",
        "size",
        "slots",
        "step",
        "epoch",
        "generation",
        "number",
        "driver",
        "anchor",
    }
)
"""Attributes that a span may have: ids, counts and our own terms. Never user data."""

Value = str | int | float | bool | UUID | None

_W3C = TraceContextTextMapPropagator()
_NOTHING = trace.NoOpTracer()
"""Propagates a trace without recording."""

_recorder: Recorder | None = None


def configure(service: str, settings: TelemetrySettings) -> None:
    """Send this process's spans to the configured destination; without one they are only propagated."""
    global _recorder
    shutdown()
    exporter = _exporter(service, settings)
    if exporter is not None:
        resource = Resource.create({"service.name": f"muster-{service}"})
        _recorder = Recorder(resource, SpanQueue(exporter))


def shutdown() -> None:
    """Write the remaining spans and stop recording."""
    global _recorder
    if _recorder is not None:
        _recorder.shutdown()
    _recorder = None


class Opened:
    """Context manager of a recorded span. A class, because a generator's `with` costs more than the span."""

    __slots__ = ("_attributes", "_links", "_name", "_parent", "_span", "_token")

    def __init__(
        self,
        name: str,
        parent: Mapping[str, str] | None,
        links: Sequence[Mapping[str, str]],
        attributes: Mapping[str, Value],
    ) -> None:
        self._name = name
        self._parent = parent
        self._links = links
        self._attributes = attributes

    def __enter__(self) -> Span:
        context = None if self._parent is None else extract(self._parent)
        others = [Link(found) for found in map(_span_context, self._links) if found.is_valid]
        self._span = _start(self._name, context, self._attributes, others)
        self._token = contexts.attach(trace.set_span_in_context(self._span, context))
        return self._span

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        if isinstance(error, Exception):
            self._span.set_status(StatusCode.ERROR, f"{type(error).__name__}: {error}"[:300])
        contexts.detach(self._token)
        self._span.end()


def span(
    name: str,
    parent: Mapping[str, str] | None = None,
    links: Sequence[Mapping[str, str]] = (),
    **attributes: Value,
) -> Opened:
    """Record the block as one span; an exception marks it as failed and is re-raised.

    Args:
        name: The operation, constant: `launch run`, `answer allocation`.
        parent: Headers of the message that caused it; default: the current span. Headers without a trace start one.
        links: Headers of other related messages: the other traces of a batch, an earlier run.
        attributes: Only those listed in `ATTRIBUTES`; others are dropped.
    """
    return Opened(name, parent, links, attributes)


def record(
    name: str, began: datetime, ended: datetime, parent: Mapping[str, str], **attributes: Value
) -> None:
    """Record a finished operation as one span, by the machine's clock; other arguments as for `span`."""
    started = _start(name, extract(parent), attributes, start_ns=_ns(began))
    started.end(_ns(max(began, ended)))


def inject(headers: MutableMapping[str, str]) -> None:
    """Add the current trace to a message's headers, if there is one."""
    _W3C.inject(headers)


def extract(headers: Mapping[str, str]) -> contexts.Context:
    """Return the context in a message's headers; an empty one if they have none."""
    return _W3C.extract(headers, contexts.Context())


def is_traced(headers: Mapping[str, str]) -> bool:
    """Return whether a message's headers have a trace."""
    return _span_context(headers).is_valid


def same_trace(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether both headers belong to one trace; headers without a trace match any."""
    mine, theirs = _span_context(one), _span_context(other)
    return not mine.is_valid or not theirs.is_valid or mine.trace_id == theirs.trace_id


def trace_id() -> str | None:
    """Return the current trace's id in hexadecimal, for logs and exemplars."""
    found = trace.get_current_span().get_span_context()
    return f"{found.trace_id:032x}" if found.is_valid else None


def _start(
    name: str,
    context: contexts.Context | None,
    attributes: Mapping[str, Value],
    links: Sequence[Link] = (),
    start_ns: int | None = None,
) -> Span:
    if _recorder is None:
        return _NOTHING.start_span(name, context)
    return _recorder.start(name, context, _kept(attributes), links, start_ns)


def _kept(attributes: Mapping[str, Value]) -> dict[str, str | int | float | bool]:
    return {
        key: str(value) if isinstance(value, UUID) else value
        for key, value in attributes.items()
        if value is not None and key in ATTRIBUTES
    }


def _ns(moment: datetime) -> int:
    return round(moment.timestamp() * 1e6) * 1000


def _exporter(service: str, settings: TelemetrySettings) -> SpanExporter | None:
    if settings.otlp_endpoint:
        # Imported here: it loads requests and protobuf, which a process without an endpoint does not need.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )

        return OTLPSpanExporter(endpoint=f"{settings.otlp_endpoint.rstrip('/')}/v1/traces")
    if settings.directory:
        return FileSpanExporter(settings.directory, service, settings.file_bytes)
    return None


def _span_context(headers: Mapping[str, str]) -> SpanContext:
    """Return the span context of headers; an invalid one if they have no trace."""
    return trace.get_current_span(extract(headers)).get_span_context()

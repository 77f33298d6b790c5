"""Spans by OpenTelemetry, and the W3C `traceparent` that carries them through message headers."""

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
    }
)
"""What a span may carry: ids, counts and our own words. Nothing of what users own, however it is called."""

Value = str | int | float | bool | UUID | None

_W3C = TraceContextTextMapPropagator()
_NOTHING = trace.NoOpTracer()
"""Carries a trace onward, and records nothing."""

_recorder: Recorder | None = None


def configure(service: str, settings: TelemetrySettings) -> None:
    """Send this process's spans where the settings say; without a place they only carry the trace onward."""
    global _recorder
    shutdown()
    exporter = _exporter(service, settings)
    if exporter is not None:
        resource = Resource.create({"service.name": f"muster-{service}"})
        _recorder = Recorder(resource, SpanQueue(exporter))


def shutdown() -> None:
    """Write out what waits, and record no more."""
    global _recorder
    if _recorder is not None:
        _recorder.shutdown()
    _recorder = None


class Opened:
    """Around what is recorded as a span. A class: a generator's `with` costs more than the span."""

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
    """Record what happens inside as one span; an exception marks it as failed and goes on.

    Args:
        name: What is done, constant: `launch run`, `answer allocation`.
        parent: Headers of the message that caused it; default is the current span. Headers without a trace begin one.
        links: Headers of messages that it belongs to besides: the other traces of a batch, an earlier run.
        attributes: On the allow-list `ATTRIBUTES`; others are dropped.
    """
    return Opened(name, parent, links, attributes)


def record(
    name: str, began: datetime, ended: datetime, parent: Mapping[str, str], **attributes: Value
) -> None:
    """Record as one span what is over, by the machine's clock; arguments as those of `span`."""
    started = _start(name, extract(parent), attributes, start_ns=_ns(began))
    started.end(_ns(max(began, ended)))


def inject(headers: MutableMapping[str, str]) -> None:
    """Put the current trace into a message's headers; nothing when there is none."""
    _W3C.inject(headers)


def extract(headers: Mapping[str, str]) -> contexts.Context:
    """Return the context that a message's headers carry; an empty one when they carry none."""
    return _W3C.extract(headers, contexts.Context())


def is_traced(headers: Mapping[str, str]) -> bool:
    """Whether a message's headers carry a trace."""
    return _span_context(headers).is_valid


def same_trace(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether both headers belong to one trace; headers without a trace belong to any."""
    mine, theirs = _span_context(one), _span_context(other)
    return not mine.is_valid or not theirs.is_valid or mine.trace_id == theirs.trace_id


def trace_id() -> str | None:
    """The current trace's id in hexadecimal, for logs and exemplars."""
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
        # Imported here: it brings requests and protobuf, which a process without an endpoint need not load.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
            OTLPSpanExporter,
        )

        return OTLPSpanExporter(endpoint=f"{settings.otlp_endpoint.rstrip('/')}/v1/traces")
    if settings.directory:
        return FileSpanExporter(settings.directory, service, settings.file_bytes)
    return None


def _span_context(headers: Mapping[str, str]) -> SpanContext:
    """Of what carries no trace it is invalid."""
    return trace.get_current_span(extract(headers)).get_span_context()

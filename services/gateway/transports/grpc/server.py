"""The gRPC server: a method for every operation, with reflection and health checks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast
from urllib.parse import unquote

import grpc
import grpc.aio
import structlog
from google.protobuf.message import Message
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from muster.errors import Broken, MusterError, Rejected
from services.gateway.platform.audit.records import CallOrigin
from services.gateway.platform.auth.authentication import read_bearer
from services.gateway.platform.auth.client_address import NO_PROXIES, Proxies, client_address
from services.gateway.platform.call_context import Caller
from services.gateway.platform.commands.long_operation_answers import OperationInProgress
from services.gateway.platform.dispatch import Dispatcher, Inputs
from services.gateway.platform.limits.rate_limits import rate_limit_status
from services.gateway.platform.lists.field_masks import FIELDS, Include, keep, read_mask
from services.gateway.platform.operation import Operation
from services.gateway.platform.preconditions import tag_of_resource
from services.gateway.platform.schema import Request, Resource
from services.gateway.transports.grpc.mapper import Mapper, Unreadable, readable, reader_of, upload_data
from services.gateway.transports.grpc.message_cache import Serialized
from services.gateway.transports.grpc.proto import PACKAGE, SERVICE
from services.gateway.transports.grpc.status import status_of
from services.gateway.transports.grpc.stubs import muster_pb2
from services.gateway.transports.rest.request_parsing import slow_body, validate
from shared import telemetry
from shared.ids import new_id
from shared.telemetry import metrics

FULL_NAME = f"{PACKAGE}.{SERVICE}"
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_CONNECTIONS = 2000
LAST_EVENT_ID = "last-event-id"
ETAG = "etag"
OPERATION = "operation"
WAITING = "muster-waiting"
"""Metadata with the reason why a stored command is not sent yet."""
_IDLE_S = 15.0

_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.max_concurrent_streams", 1000),
    ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
    ("grpc.server_handshake_timeout_ms", 10_000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_ping_strikes", 3),
    ("grpc.so_reuseport", 0),
]
_log = structlog.get_logger()

MethodHandler = Any
"""grpc.RpcMethodHandler, which is generic in the stubs but not in the library."""

Context = Any
"""grpc.aio.ServicerContext, which is generic in the stubs."""

Metadata = Sequence[tuple[str, str]]


class Rpc:
    """Serves the operations over gRPC."""

    def __init__(
        self, dispatcher: Dispatcher, proxies: Proxies = NO_PROXIES, mapper: Mapper | None = None
    ) -> None:
        self._dispatcher = dispatcher
        self._proxies = proxies
        self._mapper = mapper or Mapper(muster_pb2)
        self._serialized = Serialized()
        self.health = health.aio.HealthServicer()  # type: ignore[attr-defined]

    def server(
        self,
        operations: tuple[Operation[Any, Any], ...],
        address: str,
        credentials: grpc.ServerCredentials | None = None,
    ) -> tuple[grpc.aio.Server, int]:
        """Return a server that is not started yet, and its port."""
        server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=4000)
        methods = {row.name: self.method(row) for row in operations}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(FULL_NAME, methods),))
        health_pb2_grpc.add_HealthServicer_to_server(self.health, server)
        names = (FULL_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, server)
        if credentials is None:
            return server, server.add_insecure_port(address)
        return server, server.add_secure_port(address, credentials)

    async def show_serving(self, serving: bool) -> None:
        """Set the status that the health service reports."""
        kind = (
            health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for name in ("", FULL_NAME):
            await self.health.set(name, kind)

    def method(self, row: Operation[Any, Any]) -> MethodHandler:
        """Return the handler of one operation."""
        kinds: dict[str | None, tuple[Callable[..., Any], Callable[..., Any]]] = {
            None: (grpc.unary_unary_rpc_method_handler, self._unary(row)),
            "server": (grpc.unary_stream_rpc_method_handler, self._stream(row)),
            "upload": (grpc.stream_unary_rpc_method_handler, self._upload(row)),
        }
        make, serve = kinds[row.stream]
        handler = make(serve, request_deserializer=reader_of(self._mapper.message_type(row.request)))
        return cast(MethodHandler, handler)

    def _unary(self, row: Operation[Any, Any]) -> Callable[[Message, Context], Any]:
        async def serve(message: Message, context: Context) -> bytes:
            async with _CallScope(self._dispatcher, row, context):
                metadata = _metadata(context)
                inputs = self._inputs(context, metadata)
                async with self._admit(row, inputs, message) as caller:
                    request = self._read(row, message)
                    mask = _mask(row, metadata)
                    try:
                        found = await self._dispatcher.call(
                            row, caller, request, inputs, context.time_remaining()
                        )
                    except OperationInProgress as error:
                        if error.present is None:
                            raise
                        details = {OPERATION: str(error.operation.id)}
                        if error.operation.waiting:
                            details[WAITING] = error.operation.waiting
                        context.set_trailing_metadata(_trailing(row, details))
                        return self._written(error.present)
                    tag = {ETAG: self._serialized.once(found, ETAG, tag_of_resource)} if row.is_tagged else {}
                    context.set_trailing_metadata(_trailing(row, tag))
                    if mask is not None:
                        return self._written(keep(found, mask))
                    return self._serialized.once(found, "message", self._written)
            raise AssertionError("unreachable")

        return serve

    def _stream(self, row: Operation[Any, Any]) -> Callable[[Message, Context], Any]:
        async def serve(message: Message, context: Context) -> AsyncIterator[bytes]:
            async def announce(position: str) -> None:
                await context.send_initial_metadata(((LAST_EVENT_ID, position),))

            async with _CallScope(self._dispatcher, row, context):
                inputs = self._inputs(context, _metadata(context), announce=announce)
                async with self._admit(row, inputs, message) as caller:
                    context.set_trailing_metadata(_trailing(row, {}))
                    request = self._read(row, message)
                    async for item in self._dispatcher.stream(row, caller, request, inputs):
                        if item is not None:
                            yield self._written(item)

        return serve

    def _upload(self, row: Operation[Any, Any]) -> Callable[[AsyncIterator[Message], Context], Any]:
        async def serve(messages: AsyncIterator[Message], context: Context) -> bytes:
            async with _CallScope(self._dispatcher, row, context):
                inputs = self._inputs(context, _metadata(context))
                async with self._admit(row, inputs) as caller:
                    iterator = aiter(messages)
                    first = await _next(iterator)
                    if first is None:
                        raise Rejected("invalid_request", "the stream contains no message", "body")
                    request = self._read(row, first)
                    inputs = replace(inputs, body=_bytes(first, iterator))
                    found = await self._dispatcher.call(
                        row, caller, request, inputs, context.time_remaining()
                    )
                    context.set_trailing_metadata(_trailing(row, {}))
                    return self._written(found)
            raise AssertionError("unreachable")

        return serve

    def _admit(
        self, row: Operation[Any, Any], inputs: Inputs, message: Message | None = None
    ) -> AbstractAsyncContextManager[Caller]:
        is_read = message is not None and not isinstance(message, Unreadable)
        named = {name: str(getattr(message, name)) for name in row.path_fields} if is_read else {}
        return self._dispatcher.admit(row, inputs.credentials, inputs.origin, named)

    def _inputs(self, context: Context, metadata: Metadata, **more: Any) -> Inputs:
        last = dict(metadata)
        return Inputs(
            bearer=read_bearer([value for key, value in metadata if key == "authorization"]),
            certificates=_certificates(context),
            idempotency_key=last.get("idempotency-key"),
            if_match=last.get("if-match"),
            last_event_id=last.get(LAST_EVENT_ID),
            origin=CallOrigin("grpc", self._sender(context.peer(), metadata), last.get("user-agent", "")),
            **more,
        )

    def _sender(self, peer: str, metadata: Metadata) -> str:
        names = self._proxies.names if self._proxies.networks else ()
        lines = [[value for key, value in metadata if key == name.lower()] for name in names]
        return client_address(self._proxies, _address(peer), False, lines).address

    def _read(self, row: Operation[Any, Any], message: Message) -> Request:
        return validate(row.request, self._mapper.to_values(row.request, readable(message)))

    def _written(self, resource: Resource) -> bytes:
        return self._mapper.to_message(resource).SerializeToString()


class _CallScope:
    """Context of one call: its span and metrics. An error becomes the call's status."""

    def __init__(self, dispatcher: Dispatcher, row: Operation[Any, Any], context: Context) -> None:
        self._dispatcher = dispatcher
        self._row = row
        self._context = context
        self._span = telemetry.span(f"rpc {row.name}", parent={}, operation=row.name, method="gRPC")
        self._figures = metrics.observed("gateway", row.name)

    async def __aenter__(self) -> None:
        self._span.__enter__()
        self._figures.__enter__()

    async def __aexit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        trace_id = None if error is None else telemetry.trace_id()
        self._figures.__exit__(kind, error, trace)
        self._span.__exit__(kind, error, trace)
        if error is None or not isinstance(error, Exception) or isinstance(error, grpc.aio.AbortError):
            return
        request_id = new_id(self._dispatcher.dependencies.clock)
        if not isinstance(error, MusterError):
            _log.error("call failed", exc_info=error, request=str(request_id))
            error = Broken(f"the gateway failed: {type(error).__name__}")
        code, message, trailing = status_of(error, request_id, trace_id)
        await self._context.abort(code, message, (*trailing, *_trailing(self._row, {})))


def _trailing(row: Operation[Any, Any], more: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the REST headers as trailing metadata, with lower-case keys."""
    status = rate_limit_status()
    headers = {
        **(status.headers() if status else {}),
        **(row.retired.headers() if row.retired else {}),
        **more,
    }
    return tuple((key.lower(), value) for key, value in headers.items())


def _metadata(context: Context) -> Metadata:
    """Return the call's text metadata in order. Call it once: the library rebuilds it for every access."""
    return [(key, value) for key, value in context.invocation_metadata() or () if isinstance(value, str)]


@lru_cache(maxsize=4096)
def _address(peer: str) -> str:
    """Return the peer's address without the port, in the same form as REST."""
    kind, _, rest = peer.partition(":")
    return unquote(rest).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else kind


def _mask(row: Operation[Any, Any], metadata: Metadata) -> Include | None:
    """Return the requested fields of the response; None: all."""
    asked = next((value for key, value in metadata if key == FIELDS), None) if row.is_masked else None
    return None if asked is None else read_mask(asked, row.response)


def _certificates(context: Context) -> tuple[str, ...]:
    """Return the URIs in the client's verified certificate; empty without a certificate."""
    names = context.auth_context().get("x509_subject_alternative_name", ())
    texts = (name.decode("utf-8", "replace") for name in names)
    return tuple(text for text in texts if "://" in text)


async def _bytes(first: Message, rest: AsyncIterator[Message]) -> AsyncIterator[bytes]:
    """Yield the bytes of an upload. Raises Transient if the caller stops sending."""
    yield upload_data(readable(first))
    while True:
        message = await _next(rest)
        if message is None:
            return
        yield upload_data(readable(message))


async def _next(messages: AsyncIterator[Message]) -> Message | None:
    """Return the next message of an upload; None at its end."""
    try:
        async with asyncio.timeout(_IDLE_S):
            return await anext(messages, None)
    except TimeoutError:
        raise slow_body(_IDLE_S) from None

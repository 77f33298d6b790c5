"""The REST server: a route for every operation, and a middleware that converts errors to problem responses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from aiohttp import web

from muster.errors import Broken, MusterError, NotFound, Rejected
from services.gateway.platform.audit.records import CallOrigin
from services.gateway.platform.auth.authentication import CallerCredentials, read_bearer
from services.gateway.platform.auth.client_address import NO_PROXIES, ClientAddress, Proxies, client_address
from services.gateway.platform.auth.csrf import BrowserRequest
from services.gateway.platform.auth.permissions import Access
from services.gateway.platform.call_context import Caller
from services.gateway.platform.commands.long_operation_answers import OperationInProgress
from services.gateway.platform.dispatch import Dispatcher, Inputs
from services.gateway.platform.limits.rate_limits import rate_limit_status
from services.gateway.platform.operation import Operation, Retirement
from services.gateway.transports.rest.dashboard import Dashboard
from services.gateway.transports.rest.docs_pages import (
    DOCS_PATH,
    OPENAPI_PATH,
    Description,
    show_docs,
    show_file,
)
from services.gateway.transports.rest.package_index import PackageIndex
from services.gateway.transports.rest.problems import problem_response
from services.gateway.transports.rest.request_parsing import (
    check_encoding,
    read_fields,
    read_list,
    read_request,
    slow_body,
    too_large,
)
from services.gateway.transports.rest.responses import accepted_response, resource_response
from services.gateway.transports.rest.session_cookies import (
    check_cookie_wanted,
    page_of,
    secret_in_cookie,
    set_session_cookie,
    without_cookie_secret,
)
from services.gateway.transports.rest.streaming import stream_events
from services.gateway.transports.rest.websocket import bearer_among, stream_frames, wants_socket
from shared import telemetry
from shared.ids import new_id
from shared.telemetry import metrics

SERVER = "muster"
_CHUNK_BYTES = 256 * 1024
_RETIRED = web.RequestKey("retired", Retirement)
_log = structlog.get_logger()

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Settings of the REST server."""

    allowed_hosts: frozenset[str]
    body_timeout_s: float
    chunk_timeout_s: float
    max_code_bytes: int
    proxies: Proxies = NO_PROXIES
    dashboard: Dashboard | None = None
    packages: PackageIndex | None = None


class Rest:
    """Serves the operations over HTTP."""

    def __init__(self, dispatcher: Dispatcher, settings: RestSettings) -> None:
        self._dispatcher = dispatcher
        self._settings = settings

    def application(self, operations: tuple[Operation[Any, Any], ...]) -> web.Application:
        """Return the aiohttp application: a route for each operation, the OpenAPI document, its page, and the dashboard."""
        app = web.Application(middlewares=[self._guard], client_max_size=self._settings.max_code_bytes)
        for row in operations:
            app.router.add_route(row.verb, row.path, self._route(row), name=row.name)
            if row.verb == "GET" and row.stream is None:
                app.router.add_route("HEAD", row.path, self._route(row))
        app.router.add_route("GET", OPENAPI_PATH, Description(operations).show)
        app.on_response_prepare.append(_sign)
        app.router.add_route("GET", DOCS_PATH, show_docs)
        app.router.add_route("GET", DOCS_PATH + "/{name}", show_file)
        if self._settings.packages is not None:
            self._settings.packages.add_to(app.router)
        if self._settings.dashboard is not None:
            self._settings.dashboard.add_to(app.router)
        return app

    def refuse_malformed(self) -> web.Response:
        """Return the response to bytes that are not an HTTP request."""
        message = (
            "this is not an HTTP/1.1 request, or it has more than 128 headers or a header longer than 8 KiB"
        )
        response = problem_response(
            Rejected("invalid_request", message), new_id(self._dispatcher.dependencies.clock), None
        )
        response.headers["Server"] = SERVER
        return response

    def _route(self, row: Operation[Any, Any]) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            if row.retired is not None:
                request[_RETIRED] = row.retired
            with metrics.observed("gateway", row.name):
                return await self._serve(request, row)

        return serve

    async def _serve(self, request: web.Request, row: Operation[Any, Any]) -> web.StreamResponse:
        is_socket = row.stream == "server" and wants_socket(request)
        bearer = read_bearer(request.headers.getall("Authorization", []))
        if bearer is None and is_socket:
            bearer = bearer_among(request.headers.get("Sec-WebSocket-Protocol", ""))
        sender = self._sender(request)
        page = page_of(request, sender.is_secure)
        check_cookie_wanted(row, page)
        if bearer is None and not isinstance(row.permission, Access):
            bearer = secret_in_cookie(request, page)
        origin = CallOrigin("rest", sender.address, request.headers.get("User-Agent", ""))
        named = dict(request.match_info)
        async with self._dispatcher.admit(row, CallerCredentials(bearer), origin, named) as caller:
            inputs = self._inputs(request, row, bearer, origin)
            if row.stream == "server":
                model = await read_request(request, row, self._settings.body_timeout_s)
                stream = stream_frames if is_socket else stream_events
                return await stream(request, self._dispatcher, row, caller, model, inputs)
            return await self._call(request, row, caller, page, inputs)

    async def _call(
        self,
        request: web.Request,
        row: Operation[Any, Any],
        caller: Caller,
        page: BrowserRequest,
        inputs: Inputs,
    ) -> web.Response:
        model = await read_request(request, row, self._settings.body_timeout_s)
        mask = read_fields(row, request)
        try:
            found = await self._dispatcher.call(row, caller, model, inputs)
        except OperationInProgress as error:
            if (answer := accepted_response(request, error)) is None:
                raise
            return answer
        response = resource_response(request, row, without_cookie_secret(row, page, found), mask)
        set_session_cookie(response, row, page, found)
        return response

    def _inputs(
        self, request: web.Request, row: Operation[Any, Any], bearer: str | None, origin: CallOrigin
    ) -> Inputs:
        return Inputs(
            bearer=bearer,
            idempotency_key=request.headers.get("Idempotency-Key"),
            if_match=read_list(request, "If-Match"),
            last_event_id=request.headers.get("Last-Event-ID"),
            body=self._chunks(request) if row.stream == "upload" else None,
            origin=origin,
        )

    def _sender(self, request: web.Request) -> ClientAddress:
        proxies = self._settings.proxies
        lines = [request.headers.getall(name, []) for name in proxies.names]
        return client_address(proxies, request.remote or "", request.secure, lines)

    async def _chunks(self, request: web.Request) -> AsyncIterator[bytes]:
        """Yield the chunks of the body. Raises Transient if the caller stops sending."""
        limit = self._settings.max_code_bytes
        if request.content_length is not None and request.content_length > limit:
            raise too_large(limit)
        while True:
            try:
                async with asyncio.timeout(self._settings.chunk_timeout_s):
                    chunk = await request.content.read(_CHUNK_BYTES)
            except TimeoutError:
                raise slow_body(self._settings.chunk_timeout_s) from None
            if not chunk:
                return
            yield chunk

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Handle the request within a span, so that every response can contain the trace id."""
        resource = request.match_info.route.resource
        name = f"{request.method} {resource.canonical}" if resource else "request of an unknown path"
        headers = {"traceparent": request.headers.get("traceparent", "")}
        # Link the caller's trace instead of joining it: callers must not choose trace ids.
        with telemetry.span(
            name, parent={}, links=[headers], operation=request.match_info.route.name
        ) as span:
            response = await self._answer(request, handler)
            span.set_attribute("status", response.status)
        return response

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        request_id = new_id(self._dispatcher.dependencies.clock)
        try:
            if request.host.rsplit(":", 1)[0].lower() not in self._settings.allowed_hosts:
                raise Rejected("host_not_allowed", "the gateway does not serve this host name", "Host")
            if not request.raw_path.startswith("/"):
                raise Rejected("invalid_request", "the request must contain a path", "request line")
            check_encoding(request)
            response = await handler(request)
        except web.HTTPException as error:
            refused = self._refuse(request, _translated(error), request_id)
            if "Allow" in error.headers:
                refused.headers["Allow"] = error.headers["Allow"]
            return refused
        except MusterError as error:
            return self._refuse(request, error, request_id)
        except Exception as error:
            if request.transport is None or request.transport.is_closing():
                raise
            _log.exception("request failed", path=request.path, request=str(request_id))
            return self._refuse(request, Broken(f"the gateway failed: {type(error).__name__}"), request_id)
        if not response.prepared:
            response.headers["X-Request-Id"] = str(request_id)
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers.setdefault("Cache-Control", "no-store")
            _add_rate_limit_headers(response)
        return response

    def _refuse(self, request: web.Request, error: MusterError, request_id: Any) -> web.Response:
        response = problem_response(error, request_id, telemetry.trace_id())
        response.headers["X-Request-Id"] = str(request_id)
        _add_rate_limit_headers(response)
        if request.can_read_body and not request.content.is_eof():
            # Close the connection: the rest of the body must not be read as the next request.
            response.force_close()
        return response


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    """Set `Server` without library versions, and the deprecation headers, on all responses including streams and errors."""
    response.headers["Server"] = SERVER
    if (retired := request.get(_RETIRED)) is not None:
        response.headers.update(retired.headers())


def _add_rate_limit_headers(response: web.StreamResponse) -> None:
    if (status := rate_limit_status()) is not None:
        response.headers.update(status.headers())


def _translated(error: web.HTTPException) -> MusterError:
    match error.status:
        case 404:
            return NotFound("this path", "GET /openapi.json lists the operations")
        case 405:
            return Rejected("method_not_allowed", "this path does not support this method")
        case 413:
            return Rejected("too_large", "the body is too large", "body")
        case _ if error.status < 500:
            return Rejected("invalid_request", error.reason)
        case _:
            return Broken(error.reason)

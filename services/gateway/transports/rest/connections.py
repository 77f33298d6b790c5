"""REST's connections: how many are open, and how long each may take to send a request's headers.

Further protection from slow or many connections is a reverse proxy's task (`docs/security.md`).
"""

import asyncio
import resource
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import structlog
from aiohttp import web

_HANDSHAKE_S = 10.0
_RESERVED_FILES = 256
"""Descriptors for everything else: the database, the bus, spooled code, gRPC."""
_BACKLOG = 1024
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """At most `count` connections are open; one that has sent no complete headers for `keep_alive_s` is closed."""

    count: int
    keep_alive_s: float


def most_connections(wanted: int) -> int:
    """As many as wanted and as descriptors allow; raises the process's limit of these as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return (
        wanted if hard == resource.RLIM_INFINITY else min(wanted, max(hard // 2, hard - 2 * _RESERVED_FILES))
    )


async def listen(
    runner: web.BaseRunner,
    address: tuple[str, int],
    tls: ssl.SSLContext | None,
    limits: ConnectionLimits,
    refuse_malformed: Callable[[], web.Response],
) -> asyncio.Server:
    """Open the port.

    Args:
        refuse_malformed: makes the answer to bytes that are no request.
    Raises:
        OSError: it is in use.
    """
    assert runner.server is not None
    server = runner.server
    return await asyncio.get_running_loop().create_server(
        lambda: _Connection(server, limits, refuse_malformed),
        *address,
        ssl=tls,
        ssl_handshake_timeout=_HANDSHAKE_S if tls else None,
        backlog=_BACKLOG,
    )


class _Connection(web.RequestHandler):
    """One connection, which is refused when too many are open."""

    __slots__ = ("_limits", "_refuse_malformed", "_server")

    def __init__(
        self, server: web.Server, limits: ConnectionLimits, refuse_malformed: Callable[[], web.Response]
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=limits.keep_alive_s,
            lingering_time=1,
            # Compressed bodies are refused; aiohttp would unpack a bomb before that.
            auto_decompress=False,
        )
        self._server = server
        self._limits = limits
        self._refuse_malformed = refuse_malformed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self._server.connections) > self._limits.count:
            _log.warning("a connection was refused: too many are open", limit=self._limits.count)
            cast(asyncio.WriteTransport, transport).write(_FULL)
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer bytes that are no request; aiohttp would log each at length, whoever sends it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of an answer is sent already")
        response = self._refuse_malformed()
        response.force_close()
        return response

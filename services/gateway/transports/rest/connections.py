"""Limits on REST connections: their number, and the time to send the headers of a request.

Use a reverse proxy for further protection against slow or many connections (`docs/security.md`).
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
"""File descriptors reserved for everything else: database, bus, spooled code, gRPC."""
_BACKLOG = 1024
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits: `count` open connections, and `keep_alive_s` seconds until complete headers must arrive."""

    count: int
    keep_alive_s: float


def most_connections(wanted: int) -> int:
    """Raise the process's limit of file descriptors to its maximum, and return how many connections it allows, at most `wanted`."""
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
        refuse_malformed: returns the response to bytes that are not an HTTP request.
    Raises:
        OSError: the port is in use.
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
    """One connection. It is closed with 503 if too many are open."""

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
            # Compressed bodies are rejected; aiohttp would decompress a zip bomb before that.
            auto_decompress=False,
        )
        self._server = server
        self._limits = limits
        self._refuse_malformed = refuse_malformed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self._server.connections) > self._limits.count:
            _log.warning("connection refused: too many are open", limit=self._limits.count)
            cast(asyncio.WriteTransport, transport).write(_FULL)
            self.force_close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer bytes that are not an HTTP request, without aiohttp's long log entry for each."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        if request.writer.output_size > 0:
            raise ConnectionError("part of a response has already been sent")
        response = self._refuse_malformed()
        response.force_close()
        return response

"""REST's connections: whoever opens many of them, or sends slowly, takes nothing from others."""

import asyncio
import resource
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from aiohttp import web

from services.gateway.core.buckets import LONGEST_S

KEEP_ALIVE_S = 75.0
"""How long an idle connection waits for its next request."""
_HANDSHAKE_S = 10.0
_KEPT_FILES = 256
"""Descriptors for everything else: the database, the bus, spooled code, gRPC."""
_BACKLOG = 1024
_REST_LEAST_S = 0.2
"""Tokens gather meanwhile: at a high rate each token would be asked for by two requests otherwise, one that is refused and one that is served."""
_log = structlog.get_logger()


def most_connections(wanted: int) -> int:
    """As many as wanted, as far as descriptors reach, of which the process takes all that it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, max(hard // 2, hard - 2 * _KEPT_FILES))


class Connections:
    """At most so many. Where one more comes, another gives way: the oldest on which nobody has shown a token yet, whatever it is at, so that a flood of
    strangers takes nothing from who is known; else the known one that has waited longest for a request. One that is being answered never does.

    Args:
        head_timeout_s: from the first byte of a request to the end of its headers.
        refuse: makes the answer to what is no request.
    """

    def __init__(self, most: int, head_timeout_s: float, refuse: Callable[[], web.Response]) -> None:
        self.head_timeout_s = head_timeout_s
        self.refuse = refuse
        self._most = most
        self._open: set[_Connection] = set()
        self._strangers: dict[_Connection, None] = {}
        self._waiting: dict[_Connection, None] = {}

    async def serve(
        self, runner: web.BaseRunner, host: str, port: int, tls: ssl.SSLContext | None
    ) -> asyncio.Server:
        """Opens the port. Raises OSError where it is in use."""
        loop = asyncio.get_running_loop()
        return await loop.create_server(
            lambda: _Connection(self, runner),
            host,
            port,
            ssl=tls,
            ssl_handshake_timeout=_HANDSHAKE_S if tls else None,
            backlog=_BACKLOG,
        )

    def opened(self, one: "_Connection") -> bool:
        """False where there is no place for it: all others are being answered."""
        if len(self._open) >= self._most:
            longest = next(iter(self._strangers or self._waiting), None)
            if longest is None:
                _log.warning("a connection was refused: all are in use", most=self._most)
                return False
            self.closed(longest)
            longest.force_close()
        self._open.add(one)
        self.idle(one)
        return True

    def busy(self, one: "_Connection") -> None:
        self._waiting.pop(one, None)

    def idle(self, one: "_Connection") -> None:
        self._strangers.pop(one, None)
        if one in self._open:
            (self._waiting if one.is_known else self._strangers)[one] = None

    def known(self, one: "_Connection") -> None:
        self._strangers.pop(one, None)

    def closed(self, one: "_Connection") -> None:
        self._open.discard(one)
        self._strangers.pop(one, None)
        self._waiting.pop(one, None)


def know(request: web.Request) -> None:
    """Says that who has sent the request is known, and the connection so one of theirs."""
    if isinstance(request.protocol, _Connection):
        request.protocol.become_known()


async def rested(request: web.Request) -> None:
    """Waits until the connection's next request is taken: who was told to come later, and sends on at once, is served no sooner and costs no more for it.

    Raises:
        ConnectionResetError: nobody waits for the answer any more.
    """
    if isinstance(request.protocol, _Connection) and request.protocol.rests_s > 0:
        await request.protocol.rested()
        if request.transport is None or request.transport.is_closing():
            raise ConnectionResetError("the caller has gone")


def slow_down(request: web.Request, wait_s: float) -> None:
    """Says that the request came too fast: the next one is taken after `wait_s`, or ten seconds."""
    if isinstance(request.protocol, _Connection):
        request.protocol.slow_down(wait_s)


@contextmanager
def answering(request: web.Request) -> Iterator[None]:
    """While a request is answered, its connection is neither slow nor waiting."""
    connection = request.protocol
    if not isinstance(connection, _Connection):
        yield
        return
    connection.begin()
    try:
        yield
    finally:
        connection.end()


class _Connection(web.RequestHandler):
    """One connection, with a bounded time for each request's head."""

    __slots__ = ("_all", "_clock", "_has_request", "_rests_until", "_timer", "is_known")

    def __init__(self, connections: Connections, runner: web.BaseRunner) -> None:
        self._clock = asyncio.get_running_loop()
        assert runner.server is not None
        super().__init__(
            runner.server,
            loop=self._clock,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=KEEP_ALIVE_S,
            lingering_time=1,
            # What is compressed is refused; a bomb would unfold before anybody looks.
            auto_decompress=False,
        )
        self._all = connections
        self._has_request = False
        self._rests_until = 0.0
        self.is_known = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._all.opened(self):
            self.force_close()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and not self._has_request:
            self._timer = self._clock.call_later(self._all.head_timeout_s, self._is_late)
        super().data_received(data)
        if self._messages:  # The head is here: that the loop comes to it late is not the caller's fault.
            self._stop_timer()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_timer()
        self._all.closed(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What aiohttp calls for bytes that are no request; it would log each at length, whoever sends it."""
        if status >= 500:
            return super().handle_error(request, status, exc, message)
        if request.writer.output_size > 0:
            raise ConnectionError("a part of an answer is sent already")
        response = self._all.refuse()
        response.force_close()
        return response

    def begin(self) -> None:
        self._stop_timer()
        self._has_request = True
        self._all.busy(self)

    def end(self) -> None:
        self._has_request = False
        self._all.idle(self)

    @property
    def rests_s(self) -> float:
        """For how long its next request is not taken yet."""
        return self._rests_until - self._clock.time()

    async def rested(self) -> None:
        """Waits meanwhile. Its head is here and cannot be late; it counts as idle."""
        self._stop_timer()
        self._has_request = True
        await asyncio.sleep(self.rests_s)

    def slow_down(self, wait_s: float) -> None:
        self._rests_until = self._clock.time() + min(max(wait_s, _REST_LEAST_S), LONGEST_S)

    def become_known(self) -> None:
        self.is_known = True
        self._all.known(self)

    def _is_late(self) -> None:
        self._timer = None
        if not self._has_request:
            self.force_close()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

"""Accepts the connections of a run's local ranks on a unix socket: from its own user, with the run's token in the first frame."""

import asyncio
import hmac
import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import structlog

from muster import wire
from muster.errors import Rejected
from worker.ranks.session import RankSession

HELLO_WITHIN_S = 10.0
MAX_GREETING = 64
"""Connections of a run that have not said hello yet; more are closed, so that a run cannot use up the daemon's descriptors."""
ACCEPT_AT_ONCE = 32
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group id of a peer."""
_log = structlog.get_logger()


class RankServer:
    """Accepts connections, checks the hello frame, and passes them to their sessions."""

    def __init__(
        self, path: Path, find_session: Callable[[str], RankSession | None], user: int | None
    ) -> None:
        """`user`: the only user id that may connect, besides this process's own; None: this process's own."""
        self._path = str(path)
        self._find_session = find_session
        self._users = {os.geteuid(), os.geteuid() if user is None else user}
        self._listener: socket.socket | None = None
        self._greeting: dict[socket.socket, asyncio.TimerHandle] = {}

    def open(self) -> None:
        """Listen. Connections in an earlier daemon's backlog reconnect by themselves."""
        self._listener = wire.listen(self._path, 0o666 if len(self._users) > 1 else 0o600)
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def close(self) -> None:
        """Stop listening."""
        loop = asyncio.get_running_loop()
        if self._listener is not None:
            loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        for connection in list(self._greeting):
            self._end(connection)

    def _accept(self) -> None:
        assert self._listener is not None
        # The rest is accepted later: a run that connects without end must not hold up the daemon.
        for _ in range(ACCEPT_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setblocking(False)
            if (user := _user_of(connection)) not in self._users:
                connection.close()
                _log.warning("a process of another user tried to connect as a rank", user=user)
                continue
            if len(self._greeting) >= MAX_GREETING:
                connection.close()
                continue
            loop = asyncio.get_running_loop()
            self._greeting[connection] = loop.call_later(HELLO_WITHIN_S, self._end, connection)
            loop.add_reader(connection, self._greet, connection, wire.Decoder(wire.RANK_FRAMES))

    def _greet(self, connection: socket.socket, decoder: wire.Decoder) -> None:
        try:
            data = connection.recv(64 * 1024)
            frame = next(iter(decoder.feed(data)), None) if data else None
        except BlockingIOError:
            return
        except (OSError, Rejected):
            data, frame = b"", None
        if frame is None:
            if not data:
                self._end(connection)
            return
        self._release(connection)
        self._admit(connection, decoder, frame)

    def _admit(self, connection: socket.socket, decoder: wire.Decoder, frame: wire.Frame) -> None:
        session = self._find_session(frame.token) if isinstance(frame, wire.Hello) else None
        if session is None or not isinstance(frame, wire.Hello) or not _is_spoken(frame.version):
            reason = (
                "this worker does not know the run"
                if session is None
                else "the SDK's protocol version is not supported"
            )
            with suppress(OSError):
                connection.send(wire.encode(wire.ConnectionRefused(reason)))
            connection.close()
            _log.warning("a rank was refused", reason=reason)
        elif frame.seat >= 0:
            session.elastic.attach(frame.seat, connection, decoder)
        elif frame.bell:
            session.attach_bell(connection)
        else:
            session.attach(connection, decoder)

    def _release(self, connection: socket.socket) -> None:
        self._greeting.pop(connection).cancel()
        asyncio.get_running_loop().remove_reader(connection)

    def _end(self, connection: socket.socket) -> None:
        if connection in self._greeting:
            self._release(connection)
            connection.close()


def _user_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user


def _is_spoken(version: int) -> bool:
    """Whether a rank's protocol version is supported: a rank of an older SDK may outlive its daemon, and versions only add frames."""
    return wire.OLDEST <= version <= wire.VERSION


def same_token(one: str, other: str) -> bool:
    """Compare tokens in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())

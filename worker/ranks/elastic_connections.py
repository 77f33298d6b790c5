"""Connections of the local ranks of an elastic run: each rank confirms its generation here and gets its next assignment."""

import asyncio
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

import structlog

from muster import wire
from muster.errors import Rejected

_log = structlog.get_logger()


class ElasticConnections:
    """Connections by local rank; a new one of the same rank replaces the old one."""

    def __init__(self, on_generation_confirmed: Callable[[int, int], None], most: int = 1) -> None:
        """`on_generation_confirmed` gets the local number and the generation of each confirmation; the run has at most `most` local ranks."""
        self._on_generation_confirmed = on_generation_confirmed
        self._most = most
        self._connections: dict[int, socket.socket] = {}

    @property
    def connected(self) -> Iterable[int]:
        """The local ranks that are connected."""
        return tuple(self._connections)

    def attach(self, local: int, connection: socket.socket, decoder: wire.Decoder) -> None:
        """Register a rank's connection. One of a rank that the run cannot have is closed."""
        if local >= self._most:
            connection.close()
            return
        self._drop(local)
        self._connections[local] = connection
        loop = asyncio.get_running_loop()
        loop.add_reader(connection, self._read, local, connection, decoder)
        # The decoder may hold frames that arrived with the first one.
        loop.call_soon(self._take, local, decoder, b"")

    def send(self, local: int, frame: wire.Join | wire.Leave) -> None:
        """Send a frame to a rank; a disconnected rank gets it again when it reconnects and confirms its generation."""
        connection = self._connections.get(local)
        if connection is not None:
            with suppress(
                OSError
            ):  # a few hundred bytes fit into the socket buffer, unless the rank has ended
                connection.send(wire.encode(frame))

    def close(self) -> None:
        """Close all connections."""
        for local in self.connected:
            self._drop(local)

    def _read(self, local: int, connection: socket.socket, decoder: wire.Decoder) -> None:
        try:
            data = connection.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(local, connection)
            return
        self._take(local, decoder, data)

    def _take(self, local: int, decoder: wire.Decoder, data: bytes) -> None:
        try:
            for frame in decoder.feed(data):
                if isinstance(frame, wire.GenerationConfirmed):
                    self._on_generation_confirmed(local, frame.generation)
        except Rejected as error:
            _log.warning("a rank broke the protocol of its elastic connection", error=str(error))
            self._drop(local)

    def _drop(self, local: int, only: socket.socket | None = None) -> None:
        connection = self._connections.get(local)
        if connection is None or (only is not None and connection is not only):
            return
        del self._connections[local]
        asyncio.get_running_loop().remove_reader(connection)
        connection.close()

"""Sends frames to a rank over a non-blocking connection, and buffers what does not fit."""

import asyncio
import socket

from muster import wire

MAX_LAG_BYTES = 4 * 1024 * 1024


class SendBuffer:
    """The sending side of a connection; the owner reads and closes it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unwritten = b""

    def send(self, frame: wire.Frame) -> bool:
        """Send a frame. Return False if the buffer is full because the rank does not read; the caller then drops the connection."""
        self._unwritten += wire.encode(frame)
        if len(self._unwritten) > MAX_LAG_BYTES:
            return False
        self._write()
        return True

    def close(self) -> None:
        """Stop sending; call it before the connection is closed."""
        asyncio.get_running_loop().remove_writer(self._connection)

    def _write(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[self._connection.send(self._unwritten) :]
            loop.remove_writer(self._connection)
        except BlockingIOError:
            loop.add_writer(self._connection, self._write)
        except OSError:
            # The rank disconnected: its earlier data is still to be read.
            loop.remove_writer(self._connection)
            self._unwritten = b""

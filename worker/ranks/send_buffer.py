"""What a rank is told over one connection: at once, and what does not fit as soon as it does."""

import asyncio
import socket

from muster import wire

MAX_LAG_BYTES = 4 * 1024 * 1024


class SendBuffer:
    """The outgoing side of a connection, which somebody else reads and closes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unwritten = b""

    def send(self, frame: wire.Frame) -> bool:
        """Send a frame. False: the rank never reads, and is to lose its connection, not the worker its memory."""
        self._unwritten += wire.encode(frame)
        if len(self._unwritten) > MAX_LAG_BYTES:
            return False
        self._write()
        return True

    def close(self) -> None:
        """Nothing is sent any more; before the connection is closed."""
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
            # It hung up: what it said before is still to be read.
            loop.remove_writer(self._connection)
            self._unwritten = b""

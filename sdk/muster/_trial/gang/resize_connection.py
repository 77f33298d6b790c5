"""Connection of a rank to its worker for resizing: reports the rank's generation, receives the next one."""

import os
import select
import socket
import time

from muster import wire
from muster.errors import Rejected

CONNECT_S = 5.0
RETRY_S = 0.5


class ResizeConnection:
    """Reports the generation in which this rank trains, and receives the next one. Reconnects after a disconnect.

    Attributes:
        generation: Generation in which the rank trains or last trained; 0 if none yet.
    """

    def __init__(self, path: str, token: str, local_rank: int, generation: int) -> None:
        """Connect; from here on, the run can be resized while it trains."""
        self._path = path
        self._hello = wire.Hello(token, 0, os.getpid(), seat=local_rank)
        self._socket: socket.socket | None = None
        self._decoder = wire.Decoder(wire.WORKER_FRAMES)
        self._retry_at = 0.0
        self._announcement: wire.Join | wire.Leave | None = None
        self.generation = generation
        self._is_standby = generation == 0
        self._connect()

    def poll(self) -> wire.Join | wire.Leave | None:
        """Return the worker's latest announcement of a newer generation, or None. Does not wait."""
        if self._socket is None:
            self._connect()
        if self._socket is not None:
            self._read(self._socket)
        return (
            self._announcement
            if self._announcement and self._announcement.generation > self.generation
            else None
        )

    def wait(self, timeout_s: float) -> wire.Join | wire.Leave:
        """Wait for an announcement.

        Raises:
            Rejected: No announcement arrived in time.
        """
        deadline = time.monotonic() + timeout_s
        while (announcement := self.poll()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Rejected(
                    "gang_not_formed", f"the worker announced no new gang within {timeout_s:.0f} s"
                )
            if self._socket is None:
                time.sleep(0.05)
            else:
                select.select([self._socket], [], [], min(left, RETRY_S))
        return announcement

    def take(self, generation: int) -> None:
        """Report that this rank trains in `generation`."""
        self.generation, self._is_standby = generation, False
        self._send_generation()

    def stand_by(self) -> None:
        """Report that the gang broke and this rank waits for the next generation."""
        self._is_standby = True
        self._send_generation()

    def _connect(self) -> None:
        now = time.monotonic()
        if now < self._retry_at:
            return
        self._retry_at = now + RETRY_S
        try:
            self._socket = wire.connect(self._path, CONNECT_S)
            self._socket.sendall(wire.encode(self._hello))
            self._socket.setblocking(False)
        except OSError:
            self._drop()
            return
        self._decoder = wire.Decoder(wire.WORKER_FRAMES)
        self._send_generation()

    def _send_generation(self) -> None:
        """Send the generation; a few bytes per change, which always fit into the kernel's buffer."""
        try:
            if self._socket is not None:
                self._socket.send(
                    wire.encode(wire.GenerationConfirmed(0 if self._is_standby else self.generation))
                )
        except OSError:
            self._drop()

    def _read(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(64 * 1024):
                for frame in self._decoder.feed(data):
                    if isinstance(frame, wire.Join | wire.Leave):
                        self._announcement = frame
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

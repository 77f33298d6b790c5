"""A rank's place in a gang that may form anew while it trains: what the worker says of it, over a connection of its own."""

import os
import select
import socket
import time

from muster import wire
from muster.errors import Rejected

CONNECT_S = 5.0
RETRY_S = 0.5


class ResizeConnection:
    """Says in which generation this rank trains, and hears of the next. One that is cut off connects again.

    Attributes:
        generation: In which it trains, or has trained; 0: in none yet.
    """

    def __init__(self, path: str, token: str, local_rank: int, generation: int) -> None:
        """Take the place: from here on the run counts as one that can be resized while it trains."""
        self._path = path
        self._hello = wire.Hello(token, 0, os.getpid(), seat=local_rank)
        self._socket: socket.socket | None = None
        self._decoder = wire.Decoder(wire.WORKER_FRAMES)
        self._retry_at = 0.0
        self._news: wire.Join | wire.Leave | None = None
        self.generation = generation
        self._stands_by = generation == 0
        self._connect()

    def poll(self) -> wire.Join | wire.Leave | None:
        """What the worker said last of a generation after this one; None: nothing. It does not wait."""
        if self._socket is None:
            self._connect()
        if self._socket is not None:
            self._read(self._socket)
        return self._news if self._news and self._news.generation > self.generation else None

    def wait(self, timeout_s: float) -> wire.Join | wire.Leave:
        """As `poll`, once there is something.

        Raises:
            Rejected: There was nothing in that time.
        """
        deadline = time.monotonic() + timeout_s
        while (news := self.poll()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Rejected(
                    "gang_not_formed", f"the gang was not told how to form anew within {timeout_s:.0f} s"
                )
            if self._socket is None:
                time.sleep(0.05)
            else:
                select.select([self._socket], [], [], min(left, RETRY_S))
        return news

    def take(self, generation: int) -> None:
        """This rank trains in `generation` now."""
        self.generation, self._stands_by = generation, False
        self._say()

    def stand_by(self) -> None:
        """The gang in which this rank trained is broken: it waits for the next generation."""
        self._stands_by = True
        self._say()

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
        self._say()

    def _say(self) -> None:
        """At most a few bytes at each change of the gang: the kernel always has room for them."""
        try:
            if self._socket is not None:
                self._socket.send(
                    wire.encode(wire.GenerationConfirmed(0 if self._stands_by else self.generation))
                )
        except OSError:
            self._drop()

    def _read(self, connection: socket.socket) -> None:
        try:
            while data := connection.recv(64 * 1024):
                for frame in self._decoder.feed(data):
                    if isinstance(frame, wire.Join | wire.Leave):
                        self._news = frame
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

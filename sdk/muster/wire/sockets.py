"""Unix sockets at paths of any length, and the blocking half of a handshake."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from muster.errors import Rejected
from muster.wire.codec import Decoder
from muster.wire.frames import ConnectionRefused, Frame

AnyFrame = TypeVar("AnyFrame", bound=Frame)


def connect(path: str, timeout_s: float) -> socket.socket:
    """A connected stream socket; raises OSError where nobody listens."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(timeout_s)
        with _address(path) as address:
            connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def listen(path: str, mode: int = 0o600) -> socket.socket:
    """A listening, non-blocking stream socket at `path`, by default for this user only; a socket left there is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            Path(path).unlink()
        with _address(path) as address:
            listener.bind(address)
        Path(path).chmod(mode)
        listener.listen(128)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _address(path: str) -> Iterator[str]:
    """`path`, or a short way to it: a socket's address holds 108 bytes, a directory's name may be longer."""
    if len(os.fsencode(path)) < 100:
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def receive(connection: socket.socket, decoder: Decoder) -> Frame | None:
    """The next frame of a blocking socket, or None at its end. Only for the handshake: what follows it stays in `decoder`."""
    for frame in decoder.feed(b""):
        return frame
    while data := connection.recv(64 * 1024):
        for frame in decoder.feed(data):
            return frame
    return None


def expect(frame: Frame | None, kind: type[AnyFrame]) -> AnyFrame:
    """`frame`, when it is a `kind`; a refusal by the other side and anything else raise Rejected."""
    if isinstance(frame, ConnectionRefused):
        raise Rejected("refused", frame.reason)
    if not isinstance(frame, kind):
        raise Rejected("protocol", f"expected {kind.TAG}, got {frame!r}")
    return frame

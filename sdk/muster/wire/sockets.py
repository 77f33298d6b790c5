"""Unix sockets at paths of any length, and the blocking part of a handshake."""

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
    """Return a connected stream socket; raises OSError if nothing listens."""
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
    """Return a listening, non-blocking stream socket at `path`, by default for this user only; replaces an existing socket."""
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
    """Yield `path` or a short alias: a socket address is limited to 108 bytes."""
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
    """Return the next frame of a blocking socket, or None at its end. Only for the handshake: later frames stay in `decoder`."""
    for frame in decoder.feed(b""):
        return frame
    while data := connection.recv(64 * 1024):
        for frame in decoder.feed(data):
            return frame
    return None


def expect(frame: Frame | None, kind: type[AnyFrame]) -> AnyFrame:
    """Return `frame` if it is a `kind`; raise Rejected for a refusal or another frame."""
    if isinstance(frame, ConnectionRefused):
        raise Rejected("refused", frame.reason)
    if not isinstance(frame, kind):
        raise Rejected("protocol", f"expected {kind.TAG}, got {frame!r}")
    return frame

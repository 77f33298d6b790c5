"""Loopback ports below the kernel's ephemeral range, so that a chosen one stays free until it is bound."""

import os
import socket
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import Literal

import psutil

LOOPBACK = "127.0.0.1"
_FIRST, _PORTS, _STRIDE = 20_000, 12_000, 1_009
_taken = count()
_lock = Lock()


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether the port is free now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(wanted: int) -> tuple[int, ...]:
    """Return distinct free ports that this process was not given before.

    Each process starts at a different offset, so that two processes rarely choose the same port before either binds it.
    """
    found: list[int] = []
    start = os.getpid() * _STRIDE
    with _lock:
        for _ in range(_PORTS):
            port = _FIRST + (start + next(_taken)) % _PORTS
            if is_free(port):
                found.append(port)
            if len(found) == wanted:
                return tuple(found)
    raise OSError("no free port was found on 127.0.0.1 between 20000 and 31999")


def accepts(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0


def find_listener(port: int, kind: Literal["tcp", "udp"] = "tcp") -> psutil.Process | None:
    """Return the process that has a port, if this user may see it."""
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind):
            is_open = kind == "udp" or connection.status == psutil.CONN_LISTEN
            if connection.laddr and connection.laddr.port == port and is_open and connection.pid is not None:
                return psutil.Process(connection.pid)
    return None


def describe_listener(port: int) -> str:
    """Return ` by NAME (pid N)` for a port in use; empty if the process is not visible."""
    with suppress(psutil.Error):
        if (found := find_listener(port)) is not None:
            return f" by {found.name()} (pid {found.pid})"
    return ""

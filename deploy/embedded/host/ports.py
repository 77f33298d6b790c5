"""Loopback ports: below the range that the kernel hands out by itself, so that a chosen one stays free until it is bound."""

import os
import socket
from itertools import count
from threading import Lock

LOOPBACK = "127.0.0.1"
_FIRST, _PORTS, _STRIDE = 20_000, 12_000, 1_009
_taken = count()
_lock = Lock()


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(wanted: int) -> tuple[int, ...]:
    """Different ports on which nobody listens, and which this process was not given before.

    Each process begins at a place of its own, far from that of the next pid: two that choose before either binds rarely meet.
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
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0

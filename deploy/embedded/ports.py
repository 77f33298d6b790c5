"""Loopback ports: below the range that the kernel hands out by itself, so that a chosen one stays free until it is bound."""

import random
import socket

LOOPBACK = "127.0.0.1"
_FIRST, _LAST = 20_000, 31_999


def is_free(port: int, host: str = LOOPBACK) -> bool:
    """Whether a server could listen there now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> tuple[int, ...]:
    """Different ports on which nobody listens."""
    found: list[int] = []
    for port in random.SystemRandom().sample(range(_FIRST, _LAST), k=2000):
        if is_free(port):
            found.append(port)
        if len(found) == count:
            return tuple(found)
    raise OSError("no free port was found on 127.0.0.1 between 20000 and 31999")


def accepts(port: int, host: str = LOOPBACK) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((host, port)) == 0

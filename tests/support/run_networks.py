"""Private networks of runs in tests: their settings, runs that take one, and servers that tell who asked."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from shared.clock import SystemClock
from shared.ids import RunId, new_id
from tests.support.network_namespaces import python_in
from worker.core.destinations import Allowed
from worker.sandbox.network.opening import NetworkConfig
from worker.sandbox.network.run_networks import RunNetworks

GANG_PORT = 8473
NOTHING = Allowed()
SERVER = """
import select, socket, sys
sockets = []
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for where in sys.argv[1:]:
        host, port = where.rsplit(":", 1)
        one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind((host, int(port)))
        if kind == socket.SOCK_STREAM:
            one.listen()
        sockets.append(one)
print("open", flush=True)
while True:
    for one in select.select(sockets, [], [])[0]:
        if one.type == socket.SOCK_STREAM:
            accepted, peer = one.accept()
            accepted.sendall(peer[0].encode())
            accepted.close()
        else:
            text, peer = one.recvfrom(2000)
            one.sendto(peer[0].encode(), peer)
"""
CLIENT = """
import socket, sys
protocol, host, port, *source = sys.argv[1:]
kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
one = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)
one.settimeout(1)
if source:
    one.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND: an address that is not its own
    one.bind((source[0], 0))
try:
    one.connect((host, int(port)))
    if protocol == "udp":
        one.send(b"question")
    print("answer", one.recv(100).decode())
except OSError as error:
    print("nothing:", error)
"""


def config(directory: Path, allowed: Allowed = NOTHING, resolvers: str = "", spare: int = 2) -> NetworkConfig:
    """Return the settings of a worker in this directory."""
    return NetworkConfig(directory, IPv4Network("100.127.0.0/16"), allowed, resolvers, GANG_PORT, spare)


def begin(networks: RunNetworks, run: RunId | None = None) -> tuple[RunId, str]:
    """Give a new run, or this one, a network, and return its file. Call it on the worker's machine."""
    run = run or RunId(new_id(SystemClock()))
    networks.work_once()
    take = networks.take(run)
    with pytest.raises(StopIteration):
        take.send(None)
    return run, networks.path(run)


def reach(path: str, host: str, port: int, protocol: str = "tcp", source: str = "") -> str:
    """Try to get an answer from a server; return `answer SOURCE` or `nothing: …`."""
    return python_in(path, CLIENT, protocol, host, str(port), *filter(None, (source,)))

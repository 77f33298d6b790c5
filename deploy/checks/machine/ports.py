"""Ports on which processes of this machine are to listen."""

import errno
import socket
from dataclasses import dataclass

import psutil

from deploy.checks.findings import Finding, error, ok
from deploy.embedded.host.ports import find_listener

WHY = "A process does not start while another program uses its port."


@dataclass(frozen=True, slots=True)
class ListeningPort:
    """A port of a process. `module`: how its command line names it; such a process may have the port already."""

    setting: str
    host: str
    port: int
    module: str
    is_udp: bool = False


def check_port(wanted: ListeningPort) -> Finding:
    """Bind the port, and release it."""
    kind = socket.SOCK_DGRAM if wanted.is_udp else socket.SOCK_STREAM
    where = f"port {wanted.port} of {wanted.host}"
    try:
        family, _, _, _, address = socket.getaddrinfo(
            wanted.host, wanted.port, type=kind, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind) as probe:
            if not wanted.is_udp:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except socket.gaierror as failure:
        return error(
            f"{wanted.host} is not an address: {failure.strerror}", f"correct the host of {wanted.setting}"
        )
    except OSError as failure:
        return _refused(wanted, where, failure)
    return ok(f"{where} is free")


def _refused(wanted: ListeningPort, where: str, failure: OSError) -> Finding:
    if failure.errno == errno.EADDRNOTAVAIL:
        return error(
            f"{wanted.host} is not an address of this machine", f"correct the host of {wanted.setting}"
        )
    if failure.errno == errno.EACCES:
        remedy = f"set {wanted.setting} to 1024 or more, or grant CAP_NET_BIND_SERVICE"
        return error(f"{where} needs privileges that this user does not have", remedy)
    if failure.errno != errno.EADDRINUSE:
        return error(f"{where} cannot be opened: {failure.strerror}", f"correct {wanted.setting}")
    user = find_listener(wanted.port, "udp" if wanted.is_udp else "tcp")
    if user is not None and wanted.module in _command_line(user):
        return ok(f"{where} is used by the running {wanted.module} (pid {user.pid})")
    by = f" by {user.name()} (pid {user.pid})" if user is not None else ""
    return error(f"{where} is in use{by}", f"stop that program, or set {wanted.setting} to another port")


def _command_line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []

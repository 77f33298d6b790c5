"""Opens the private networks of a worker, or says why there are none."""

import hashlib
import os
import shutil
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_interface
from pathlib import Path
from socket import AddressFamily

import psutil
import structlog

from muster.errors import Rejected
from worker.core.destinations import Allowed, read_allowed
from worker.sandbox.capabilities import missing_capabilities
from worker.sandbox.network.commands import PROGRAMS, NetworkFailed, execute, ignore_failure, ip, nft
from worker.sandbox.network.forwarding import TABLE_PREFIX
from worker.sandbox.network.namespaces import Namespaces
from worker.sandbox.network.resolver import find_resolvers, resolv_conf
from worker.sandbox.network.rules import Boundary, base_rules
from worker.sandbox.network.run_networks import RunNetworks
from worker.settings import WorkerSection

SPARE = 4
"""Prepared networks: when more runs start at once, each further one waits some tens of milliseconds."""
_PROBE_VNI = 0xFFFFFF
_NO_SANDBOXES = "runs have no sandboxes"
_HINT = (
    "start the worker as root with CAP_NET_ADMIN on a machine with iproute2 and nftables; "
    "or set MUSTER_WORKER__NETWORK to host if the pool serves one trusted tenant only"
)
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Settings of the site. `directory`: the worker's; `resolvers`: comma-separated, empty: those of the machine."""

    directory: Path
    subnet: IPv4Network
    allowed: Allowed
    resolvers: str
    gang_port: int
    spare: int


def find_networks(own: WorkerSection, *, has_sandboxes: bool) -> RunNetworks | str:
    """Return the opened networks of this worker; if its runs use the machine's network, why.

    Raises:
        Rejected: Private networks are set, and cannot be had on this machine.
    """
    if own.network == "host":
        return "MUSTER_WORKER__NETWORK is host"
    if own.network == "auto" and not has_sandboxes:
        return _NO_SANDBOXES
    try:
        if not has_sandboxes:
            raise NetworkFailed(_NO_SANDBOXES)
        return open_networks(_config_of(own))
    except NetworkFailed as error:
        if own.network == "auto":
            _log.warning("runs use the machine's network", reason=error.message, hint=_HINT)
            return error.message
        raise Rejected(
            "no_private_networks",
            f"runs cannot have networks of their own: {error.message}",
            place="MUSTER_WORKER__NETWORK",
            hint=_HINT,
        ) from error


def refusal_of_networks(own: WorkerSection) -> str | None:
    """Return why runs of a worker with these settings could not have private networks on this machine; None if they could."""
    return unavailable_reason(_boundary(_config_of(own)))


def open_networks(config: NetworkConfig) -> RunNetworks:
    """Return the opened networks of the worker in this directory.

    Raises:
        NetworkFailed: `unavailable_reason` of this machine, or an error while the first namespace was created.
    """
    boundary = _boundary(config)
    if reason := unavailable_reason(boundary):
        raise NetworkFailed(reason)
    resolvers = boundary.resolvers
    networks = RunNetworks(
        config.directory / "networks",
        boundary,
        Namespaces(boundary.table, config.subnet),
        config.spare,
        resolv_conf(resolvers),
    )
    networks.open()
    return networks


def unavailable_reason(boundary: Boundary) -> str | None:
    """Return why runs on this machine use its network; None if they can have private ones."""
    if os.geteuid() != 0:
        return "only root can make networks of runs"
    if missing := sorted({package for name, package in PROGRAMS.items() if shutil.which(name) is None}):
        return f"this machine lacks {' and '.join(missing)}"
    if lacking := missing_capabilities("net_admin", "sys_admin"):
        return f"this worker lacks {' and '.join(lacking)}"
    try:
        _probe(boundary)
    except NetworkFailed as error:
        return f"the kernel refuses networks of runs: {error.message}"
    return None


def _probe(boundary: Boundary) -> None:
    """Create what networks need besides namespaces and links, and remove it again."""
    name = f"{boundary.table}-probe"
    ignore_failure("ip", "netns", "delete", name)
    execute("ip", "netns", "add", name)
    try:
        vxlan = f"type vxlan id {_PROBE_VNI} dstport {boundary.gang_port}"
        ip(f"link add vxlan0 {vxlan}", "link add gang0 type bridge", namespace=name)
        probe = Boundary(
            name,
            boundary.subnet,
            boundary.allowed,
            boundary.resolvers,
            boundary.connected,
            boundary.gang_port,
        )
        nft(*base_rules(probe, ()), f"delete table inet {name}")
    finally:
        ignore_failure("ip", "netns", "delete", name)


def _config_of(own: WorkerSection) -> NetworkConfig:
    return NetworkConfig(
        directory=own.directory.absolute(),
        subnet=own.network_subnet,
        allowed=read_allowed(own.network_allow),
        resolvers=own.network_resolvers,
        gang_port=own.network_gang_port,
        spare=SPARE,
    )


def _boundary(config: NetworkConfig) -> Boundary:
    # A worker is known by its directory, which it locks: two platforms on one machine may both have a worker `w1`.
    key = hashlib.sha256(str(config.directory).encode()).hexdigest()[:8]
    return Boundary(
        table=f"{TABLE_PREFIX}{key}",
        subnet=str(config.subnet),
        allowed=config.allowed,
        resolvers=find_resolvers(config.resolvers),
        connected=_connected_networks(),
        gang_port=config.gang_port,
    )


def _connected_networks() -> tuple[str, ...]:
    """Return the IPv4 networks that the machine is connected to."""
    return tuple(
        str(ip_interface(f"{entry.address}/{entry.netmask}").network)
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family == AddressFamily.AF_INET and entry.netmask
    )

"""The name servers of runs: those of the machine, without its loopback, which is not theirs."""

from collections.abc import Sequence
from ipaddress import IPv4Address, ip_address
from pathlib import Path

HOST_FILE = Path("/etc/resolv.conf")
UPSTREAM_FILES = (Path("/run/systemd/resolve/resolv.conf"), Path("/run/NetworkManager/no-stub-resolv.conf"))
"""Where local resolvers list the servers that they ask."""


def find_resolvers(
    configured: str = "", host: Path = HOST_FILE, upstream: Sequence[Path] = UPSTREAM_FILES
) -> tuple[str, ...]:
    """Return the IPv4 name servers that runs can use: `configured` (comma-separated), or those of the first file that has one."""
    if configured:
        return tuple(one.strip() for one in configured.split(",") if one.strip())
    files = (_servers_in(path) for path in (host, *upstream))
    return next((servers for servers in files if servers), ())


def resolv_conf(resolvers: Sequence[str], host: Path = HOST_FILE) -> str:
    """Return the content of `/etc/resolv.conf` for runs; search domains and options are the machine's."""
    kept = [line for line in _lines(host) if line.split()[:1] in (["search"], ["domain"], ["options"])]
    return "".join(f"{line}\n" for line in (*(f"nameserver {one}" for one in resolvers), *kept))


def _servers_in(path: Path) -> tuple[str, ...]:
    lines = [line.split() for line in _lines(path)]
    return tuple(
        line[1] for line in lines if line[:1] == ["nameserver"] and len(line) > 1 and _is_usable(line[1])
    )


def _is_usable(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return isinstance(address, IPv4Address) and not address.is_loopback


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []

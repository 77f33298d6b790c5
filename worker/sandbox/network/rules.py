"""The worker's table of nftables: what its runs' namespaces may send, and which machines may send to a gang. Pure.

Each worker has a table of its own, which ends with it. Its chains apply to its own namespaces only, so several workers share a machine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from worker.core.destinations import NEVER, PRIVATE, Allowed, Destination, merged

MOST_CONNECTIONS = 4096
"""Of one run to the outside: the kernel's table of connections is shared by the whole machine."""
SOURCE_PORTS = 512, 1024
"""VXLAN packets leave a machine from these ports, which no user but root can bind."""
_REJECT = "reject with icmpx type admin-prohibited"
_SOURCE_SET = "{ type ifname . ipv4_addr; }"
_COUNTED_SET = "{ type ipv4_addr; size 65535; flags dynamic; }"
_ESTABLISHED = "ct state established,related accept"


@dataclass(frozen=True, slots=True)
class Boundary:
    """The input of the rules. `connected`: networks that the machine is connected to; `gang_port`: the UDP port of VXLAN."""

    table: str
    subnet: str
    allowed: Allowed
    resolvers: Sequence[str]
    connected: Sequence[str]
    gang_port: int


@dataclass(frozen=True, slots=True)
class Link:
    """The machine's end of a namespace's link, and the only address that the namespace may send from."""

    name: str
    address: str


def base_rules(boundary: Boundary, links: Iterable[Link]) -> list[str]:
    """Return the lines that create or renew the table; the chains of gangs stay as they are."""
    table = f"inet {boundary.table}"
    lines = [
        f"add table {table}",
        f"add set {table} links {{ type ifname; }}",
        f"add set {table} sources {_SOURCE_SET}",
        f"add set {table} connections {_COUNTED_SET}",
        f"flush set {table} links",
        f"flush set {table} sources",
    ]
    for link in links:
        lines += add_link(boundary.table, link)
    for name, (hook, rules) in _chains(boundary).items():
        lines += [f"add chain {table} {name} {hook}", f"flush chain {table} {name}"]
        lines += [f"add rule {table} {name} {rule}" for rule in rules]
    return lines


def add_link(table: str, link: Link) -> list[str]:
    """Return the lines that put a namespace behind the boundary."""
    return [
        f'add element inet {table} links {{ "{link.name}" }}',
        f'add element inet {table} sources {{ "{link.name}" . {link.address} }}',
    ]


def drop_link(table: str, link: Link) -> list[str]:
    """Return the lines that forget a namespace."""
    return [line.replace("add element", "delete element", 1) for line in add_link(table, link)]


def gang_rules(boundary: Boundary, chain: str, vni: int, machines: Sequence[str]) -> list[str]:
    """Return the lines that let only these machines send to a member of a gang, which receives as `vni`."""
    table, packet = f"inet {boundary.table}", f"udp dport {boundary.gang_port} @th,96,24 {vni}"
    ipv4 = [machine for machine in machines if ":" not in machine]
    ipv6 = [machine for machine in machines if ":" in machine]
    return [
        *_open_chain(boundary.table, chain),
        f"add rule {table} {chain} {packet} udp sport >= {SOURCE_PORTS[1]} drop",
        f"add rule {table} {chain} {packet} meta nfproto ipv4 {_unless('ip saddr', ipv4)} drop",
        f"add rule {table} {chain} {packet} meta nfproto ipv6 {_unless('ip6 saddr', ipv6)} drop",
    ]


def drop_gang(table: str, chain: str) -> list[str]:
    """Return the lines that delete a gang's chain, if it exists."""
    return [*_open_chain(table, chain), f"delete chain inet {table} {chain}"]


def _open_chain(table: str, chain: str) -> list[str]:
    hook = "{ type filter hook input priority filter - 10; }"
    return [f"add chain inet {table} {chain} {hook}", f"flush chain inet {table} {chain}"]


def _unless(field: str, addresses: Sequence[str]) -> str:
    return f"{field} != {{ {', '.join(addresses)} }}" if addresses else ""


def _chains(boundary: Boundary) -> dict[str, tuple[str, list[str]]]:
    never = merged((*NEVER, boundary.subnet))
    private = merged((*PRIVATE, *boundary.connected))
    dns = _dns(boundary.resolvers)
    outward = [
        _ESTABLISHED,
        f"add @connections {{ ip saddr ct count over {MOST_CONNECTIONS} }} {_REJECT}",
        *dns,
        f"ip daddr {{ {', '.join(never)} }} {_REJECT}",
        # A gang's packets come from machines, never from namespaces, whatever address they claim.
        f"udp dport {boundary.gang_port} {_REJECT}",
        *(f"{_match(one)} accept" for one in boundary.allowed.destinations),
        f"ip daddr {{ {', '.join(private)} }} {_REJECT}",
        "accept" if boundary.allowed.is_public else _REJECT,
    ]
    return {
        "outward": ("", outward),
        "inward": ("", [_ESTABLISHED, "drop"]),
        "to_machine": ("", [_ESTABLISHED, *dns, _REJECT]),
        "arriving": (
            "{ type filter hook prerouting priority raw; }",
            ["iifname @links meta nfproto ipv6 drop", "iifname @links iifname . ip saddr != @sources drop"],
        ),
        "forwarding": (
            "{ type filter hook forward priority filter; }",
            ["iifname @links jump outward", "oifname @links jump inward"],
        ),
        "input": ("{ type filter hook input priority filter; }", ["iifname @links jump to_machine"]),
        "translating": (
            "{ type nat hook postrouting priority srcnat; }",
            [f"ip saddr {boundary.subnet} masquerade"],
        ),
    }


def _dns(resolvers: Sequence[str]) -> list[str]:
    if not resolvers:
        return []
    return [f"ip daddr {{ {', '.join(resolvers)} }} meta l4proto {{ tcp, udp }} th dport 53 accept"]


def _match(destination: Destination) -> str:
    match = f"ip daddr {destination.network}"
    if destination.ports is None:
        return match
    first, last = destination.ports
    return f"{match} meta l4proto {{ tcp, udp }} th dport {first}-{last}"

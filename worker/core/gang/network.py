"""Selects the network interface for a gang's communication. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface

LOOPBACK = "lo"


@dataclass(frozen=True, slots=True)
class Interface:
    """One address of a network interface; `netmask` is empty if the system reports none."""

    name: str
    address: str
    netmask: str = ""


def joining_interface(own: str, peers: Sequence[str], interfaces: Sequence[Interface]) -> str:
    """Return the interface for communication with the other members.

    The first choice is the interface with the machine's own address, at which the others connect. If none has it (the address is a host name
    or behind NAT), the interface whose network contains another member, then the first that is not a loopback. A gang on one machine,
    and a machine without a network, use the loopback.
    """
    for one in interfaces:
        if one.address == own:
            return one.name
    others = [peer for peer in peers if peer != own]
    if not others:
        return LOOPBACK
    joined = (one.name for one in interfaces if any(_holds(one, peer) for peer in others))
    outward = (one.name for one in interfaces if not _is_loopback(one))
    return next(joined, None) or next(outward, LOOPBACK)


def _holds(interface: Interface, address: str) -> bool:
    try:
        return ip_address(address) in ip_interface(f"{interface.address}/{interface.netmask}").network
    except ValueError:
        return False


def _is_loopback(interface: Interface) -> bool:
    try:
        return ip_address(interface.address).is_loopback
    except ValueError:
        return True

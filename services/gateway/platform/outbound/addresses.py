"""Which addresses the platform may be made to call: the internet's, and networks that the site names. Everything else is somebody's inside."""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_INSIDE_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
            "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
        ),
    )
)  # fmt: skip
"""IANA's special-purpose registry: this host, private, shared, loopback, link-local (metadata services), documentation, multicast, reserved."""
_OUTSIDE_6 = IPv6Network("2000::/3")
_INSIDE_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
"""Of the global unicast range: Teredo, ORCHID and benchmarks, documentation, 6to4. What is outside the range is inside anyway."""
_NAT64 = IPv6Network("64:ff9b::/96")


def parse_address(text: str) -> Address | None:
    """The address in its usual form, without a zone; None where it is none."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_outside(address: Address) -> bool:
    """True for an address of the internet; one that carries another within it is what that is."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INSIDE_4)
    within = _carried(address)
    if within is not None:
        return is_outside(within)
    return address in _OUTSIDE_6 and not any(address in network for network in _INSIDE_6)


def is_named(address: Address, networks: Sequence[Network]) -> bool:
    """True when one of the networks holds the address, or the one that it carries."""
    addresses = [address]
    if isinstance(address, IPv6Address) and (within := _carried(address)) is not None:
        addresses.append(within)
    return any(one in network for one in addresses for network in networks if one.version == network.version)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a mapped or NAT64 address leads to."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped

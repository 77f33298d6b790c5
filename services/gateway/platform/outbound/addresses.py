"""Classifies IP addresses: public ones, and networks that the site allows. Outbound calls to all others are refused."""

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
"""Non-public parts of the global unicast range: Teredo, ORCHID and benchmarking, documentation, 6to4. Addresses outside that range count as internal."""
_NAT64 = IPv6Network("64:ff9b::/96")


def parse_address(text: str) -> Address | None:
    """Parse an IP address, ignoring its zone; None if the text is not an address."""
    try:
        return ip_address(text.partition("%")[0])
    except ValueError:
        return None


def is_outside(address: Address) -> bool:
    """True for a public address. An address that embeds an IPv4 address is classified by that."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _INSIDE_4)
    within = _carried(address)
    if within is not None:
        return is_outside(within)
    return address in _OUTSIDE_6 and not any(address in network for network in _INSIDE_6)


def is_named(address: Address, networks: Sequence[Network]) -> bool:
    """True if one of the networks contains the address, or the IPv4 address embedded in it."""
    addresses = [address]
    if isinstance(address, IPv6Address) and (within := _carried(address)) is not None:
        addresses.append(within)
    return any(one in network for one in addresses for network in networks if one.version == network.version)


def _carried(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address embedded in a mapped or NAT64 address."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped

"""Finds the client address behind proxies. Only headers of the site's own proxies are trusted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network
from typing import Literal

from muster.errors import Rejected
from services.gateway.platform.outbound.addresses import Address, Network, is_named, parse_address

ForwardedHeader = Literal["X-Forwarded-For", "Forwarded"]
SCHEME = "X-Forwarded-Proto"
"""Read together with `X-Forwarded-For`; `Forwarded` contains the scheme itself."""
MOST_HOPS = 32
_ONE_CALLER_BITS = 64
"""An IPv6 client controls a whole /64 network, so its addresses count as one client."""
_PAIR = re.compile(
    r"""[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;,\s"]*)[ \t]*)?([;,]|\Z)""", re.DOTALL
)
_NODE = re.compile(r"\[?([^\[\]]*?)\]?(?::[A-Za-z0-9._-]+)?")


@dataclass(frozen=True, slots=True)
class Proxies:
    """Networks of the site's proxies, and the header in which they forward client addresses.

    Only one header is read: a proxy rewrites the header that it knows and passes on the other one as the client wrote it.
    """

    networks: tuple[Network, ...] = ()
    header: ForwardedHeader = "X-Forwarded-For"

    @property
    def names(self) -> tuple[str, ...]:
        """The headers that are read."""
        return (self.header, SCHEME) if self.header == "X-Forwarded-For" else (self.header,)


NO_PROXIES = Proxies()


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """The client's address, and whether the whole path is encrypted according to the proxies."""

    address: str
    is_secure: bool


@dataclass(frozen=True, slots=True)
class _Hop:
    node: str
    scheme: str = ""


def client_address(
    proxies: Proxies, peer: str, is_secure: bool, headers: Sequence[Sequence[str]]
) -> ClientAddress:
    """Return the nearest address that is not a proxy of the site. Each trusted proxy vouches for the address that called it, no further.

    Args:
        peer: address of the connection's peer.
        is_secure: whether the connection is encrypted.
        headers: lines of each header in `proxies.names`.
    Raises:
        Rejected: a proxy of the site forwards a malformed header.
    """
    address, plain = _read_peer(peer)
    if address is None or not is_named(address, proxies.networks):
        return ClientAddress(plain, is_secure)
    for hop in _hops(proxies, headers):
        if hop.scheme:
            is_secure = hop.scheme.lower() == "https"
        found = _address_in(hop.node)
        if found is None:
            break  # The proxy gives no address: the call counts as its own.
        address = found
        if not is_named(address, proxies.networks):
            break
    return ClientAddress(_plain(address), is_secure)


def caller_key(address: str) -> str:
    """Return the key under which attempts from an address are counted: for IPv6, the /64 network."""
    found = parse_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Network((found, _ONE_CALLER_BITS), strict=False))
    return address


@lru_cache(maxsize=4096)
def _read_peer(peer: str) -> tuple[Address | None, str]:
    """Parse the peer's address. Cached: it is the same for all requests of a connection, and parsing costs as much as authentication."""
    address = parse_address(peer)
    return address, _plain(address) if address else peer


def _hops(proxies: Proxies, headers: Sequence[Sequence[str]]) -> Iterator[_Hop]:
    """Yield the hops from the nearest proxy outwards."""
    line = ",".join(headers[0])
    if proxies.header == "Forwarded":
        yield from reversed(_read_forwarded(line)[-MOST_HOPS:])
        return
    schemes = [one.strip() for one in ",".join(headers[1]).split(",")]
    for node in reversed(line.split(",")[-MOST_HOPS:]):
        yield _Hop(node.strip(), schemes[-1])


def _read_forwarded(line: str) -> list[_Hop]:
    """Parse the elements of a `Forwarded` header (RFC 7239), in the order in which they were added."""
    found: list[_Hop] = []
    pairs: dict[str, str] = {}
    position = 0
    while position < len(line):
        match = _PAIR.match(line, position)
        if match is None:
            raise Rejected("invalid_request", "the header does not follow RFC 7239", "Forwarded")
        name, value, end = match.groups()
        if name is not None:
            pairs[name.lower()] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        position = match.end()
        if end != ";":
            found.append(_Hop(pairs.get("for", ""), pairs.get("proto", "")))
            pairs = {}
    return found


def _address_in(node: str) -> Address | None:
    """Parse the address in `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1` or `[2001:db8::1]:80`."""
    whole = parse_address(node)
    if whole is not None:
        return whole
    match = _NODE.fullmatch(node)
    return parse_address(match[1]) if match else None


def _plain(address: Address) -> str:
    """Return the canonical spelling. IPv4 addresses mapped to IPv6 become IPv4."""
    return str((address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address)

"""Who a call comes from where a proxy stands between: what a proxy of the site says is believed, and what anybody else says is not."""

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
"""Beside `X-Forwarded-For`; `Forwarded` says it itself."""
MOST_HOPS = 32
_ONE_CALLER_BITS = 64
"""Who has an address of IPv6 has all of its network: 64 bits of it are one caller's."""
_PAIR = re.compile(
    r"""[ \t]*(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)=("(?:[^"\\]|\\.)*"|[^;,\s"]*)[ \t]*)?([;,]|\Z)""", re.DOTALL
)
_NODE = re.compile(r"\[?([^\[\]]*?)\]?(?::[A-Za-z0-9._-]+)?")


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks that the site's proxies stand in, and the one header in which they tell of callers.

    Only one: a proxy rewrites the header that it knows of and passes the other on as the caller wrote it.
    """

    networks: tuple[Network, ...] = ()
    header: ForwardedHeader = "X-Forwarded-For"

    @property
    def names(self) -> tuple[str, ...]:
        """The headers that are looked at."""
        return (self.header, SCHEME) if self.header == "X-Forwarded-For" else (self.header,)


NO_PROXIES = Proxies()


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """Where a call comes from, and whether all its way was encrypted as far as the proxies say."""

    address: str
    is_secure: bool


@dataclass(frozen=True, slots=True)
class _Hop:
    node: str
    scheme: str = ""


def client_address(
    proxies: Proxies, peer: str, is_secure: bool, headers: Sequence[Sequence[str]]
) -> ClientAddress:
    """The nearest address that is no proxy of the site: each proxy is believed about whom it was called by, and no further.

    Args:
        peer: the connection's other end.
        is_secure: whether the connection is encrypted.
        headers: the lines of each of `proxies.names`.
    Raises:
        Rejected: a proxy of the site passes on what cannot be read.
    """
    address, plain = _read_peer(peer)
    if address is None or not is_named(address, proxies.networks):
        return ClientAddress(plain, is_secure)
    for hop in _hops(proxies, headers):
        if hop.scheme:
            is_secure = hop.scheme.lower() == "https"
        found = _address_in(hop.node)
        if found is None:
            break  # A proxy that does not know, or does not tell: the call is its own.
        address = found
        if not is_named(address, proxies.networks):
            break
    return ClientAddress(_plain(address), is_secure)


def caller_key(address: str) -> str:
    """What counts as one caller where attempts are counted."""
    found = parse_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Network((found, _ONE_CALLER_BITS), strict=False))
    return address


@lru_cache(maxsize=4096)
def _read_peer(peer: str) -> tuple[Address | None, str]:
    """The connection's other end, and how it is written: the same for all requests of a connection, and to read it costs as much as to know the caller."""
    address = parse_address(peer)
    return address, _plain(address) if address else peer


def _hops(proxies: Proxies, headers: Sequence[Sequence[str]]) -> Iterator[_Hop]:
    """From the nearest proxy outwards."""
    line = ",".join(headers[0])
    if proxies.header == "Forwarded":
        yield from reversed(_read_forwarded(line)[-MOST_HOPS:])
        return
    schemes = [one.strip() for one in ",".join(headers[1]).split(",")]
    for node in reversed(line.split(",")[-MOST_HOPS:]):
        yield _Hop(node.strip(), schemes[-1])


def _read_forwarded(line: str) -> list[_Hop]:
    """The elements of RFC 7239, in the order in which they were added."""
    found: list[_Hop] = []
    pairs: dict[str, str] = {}
    position = 0
    while position < len(line):
        match = _PAIR.match(line, position)
        if match is None:
            raise Rejected("invalid_request", "this is not as RFC 7239 says it", "Forwarded")
        name, value, end = match.groups()
        if name is not None:
            pairs[name.lower()] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        position = match.end()
        if end != ";":
            found.append(_Hop(pairs.get("for", ""), pairs.get("proto", "")))
            pairs = {}
    return found


def _address_in(node: str) -> Address | None:
    """The address of `1.2.3.4`, `1.2.3.4:80`, `2001:db8::1` or `[2001:db8::1]:80`."""
    whole = parse_address(node)
    if whole is not None:
        return whole
    match = _NODE.fullmatch(node)
    return parse_address(match[1]) if match else None


def _plain(address: Address) -> str:
    """In one spelling: an address of IPv4 is that, however it was carried."""
    return str((address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address)

"""HTTP client for addresses that users and the sign-in file name: on the internet and in networks that the site allows. Internal addresses are refused,
whatever a name resolves to. Webhooks and OpenID Connect providers use it."""

import asyncio
import errno
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from services.gateway.platform.outbound.addresses import Network, is_named, is_outside, parse_address

INTERNAL_ADDRESS = "the address belongs to an internal network that the site does not allow"
_RESOLVERS = 8
_HEADER_BYTES = 8190


class InternalAddressError(OSError):
    """The address belongs to an internal network that is not allowed."""

    def __init__(self) -> None:
        super().__init__(errno.EACCES, INTERNAL_ADDRESS)


class OutboundClient:
    """HTTP sessions for addresses that users name: without redirects, cookies, proxies and connection reuse.

    Each address is checked when its socket is created, after name resolution, so the checked address is the one that is connected to.

    Args:
        networks: internal networks that may be called. Only they may be called without TLS.
        reads: whether answers are read, and so decompressed.
    """

    def __init__(self, networks: Sequence[Network], *, reads: bool = False) -> None:
        self._networks = tuple(networks)
        self._reads = reads
        self._resolver = _Resolver()

    async def __aenter__(self) -> Self:
        self._sessions = {
            "http": self._session(self._plain_socket),
            "https": self._session(self._secure_socket),
        }
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions.values():
            await session.close()
        self._resolver.pool.shutdown(wait=False, cancel_futures=True)

    def session(self, scheme: str) -> aiohttp.ClientSession:
        """Return the session for `http` or `https`."""
        return self._sessions[scheme]

    def _session(self, sockets: Any) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            resolver=self._resolver, use_dns_cache=False, force_close=True, limit=0, socket_factory=sockets
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=self._reads,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
        )

    def _plain_socket(self, found: Any) -> socket.socket:
        """Create a socket without TLS, only for the networks that the site allows."""
        return _socket(found, allowed=self._is_named(found[4][0]))

    def _secure_socket(self, found: Any) -> socket.socket:
        address = parse_address(found[4][0])
        allowed = address is not None and is_outside(address)
        return _socket(found, allowed=allowed or self._is_named(found[4][0]))

    def _is_named(self, text: str) -> bool:
        address = parse_address(text)
        return address is not None and is_named(address, self._networks)


class _Resolver(AbstractResolver):
    """Resolves names on its own threads, so that slow name servers do not block other work."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(_RESOLVERS, "outward-names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self.pool, lambda: socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        )
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port, family=kind, proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]  # fmt: skip

    async def close(self) -> None:
        """Do nothing: the sessions share the thread pool, and it is closed with them."""


def _socket(found: Any, *, allowed: bool) -> socket.socket:
    if not allowed:
        raise InternalAddressError
    return socket.socket(found[0], found[1], found[2])

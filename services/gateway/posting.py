"""Posts to addresses that tenants name: of the internet, and of networks that the site allows. Nothing inside is reached, whatever a name resolves to."""

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from services.gateway.core.addresses import Address, Network, is_named, is_outside, parse_address
from services.gateway.core.webhooks import Attempt
from shared.errors import Rejected

INSIDE = "the address is of an internal network, which the site does not allow"
_RESOLVERS = 8
_HEADER_BYTES = 8190


class InsideError(OSError):
    """The address may not be called."""

    def __init__(self) -> None:
        super().__init__(INSIDE)


class Poster:
    """Makes one request for each post and reads nothing of the answer but its status: no redirect, no cookie, no proxy, no shared connection.

    Each address is judged when its socket is made, behind all names and spellings: what was judged is what is connected to.
    """

    def __init__(self, networks: Sequence[Network], timeout_s: float) -> None:
        self._networks = tuple(networks)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._resolver = _Resolver()

    async def __aenter__(self) -> Self:
        self._plain = self._session(self._plain_socket)
        self._secure = self._session(self._secure_socket)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._plain.close()
        await self._secure.close()
        self._resolver.pool.shutdown(wait=False, cancel_futures=True)

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Attempt:
        """What came of it; trouble of any kind is told in words that say nothing of networks inside."""
        try:
            target = check_url(url, self._networks)
            session = self._secure if target.scheme == "https" else self._plain
            async with session.post(target, headers=headers, data=body, allow_redirects=False) as answer:
                answer.close()
                return _attempt_of(answer)
        except Rejected as error:
            return Attempt(error=error.message)
        except TimeoutError:
            return Attempt(error=f"there was no answer within {self._timeout.total:g} s")
        except aiohttp.ClientConnectorDNSError:
            return Attempt(error="the host's name could not be resolved")
        except aiohttp.ClientSSLError:
            return Attempt(
                error="no TLS connection came about: the host's certificate is not one that is trusted"
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Attempt(error=INSIDE if INSIDE in str(error) else "no connection came about, or no answer")

    def _session(self, sockets: Any) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            resolver=self._resolver, use_dns_cache=False, force_close=True, limit=0, socket_factory=sockets
        )
        return aiohttp.ClientSession(
            connector=connector,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
        )

    def _plain_socket(self, found: Any) -> socket.socket:
        """Unencrypted, within the networks that the site names alone."""
        return _socket(found, allowed=self._is_named(found[4][0]))

    def _secure_socket(self, found: Any) -> socket.socket:
        address = parse_address(found[4][0])
        allowed = address is not None and is_outside(address)
        return _socket(found, allowed=allowed or self._is_named(found[4][0]))

    def _is_named(self, text: str) -> bool:
        address = parse_address(text)
        return address is not None and is_named(address, self._networks)


def check_url(url: str, networks: Sequence[Network]) -> URL:
    """The address as it is called, if it can be judged before names are resolved.

    Raises:
        Rejected: it is malformed, holds a password, or is a number of an internal network in whatever spelling.
    """
    try:
        found = URL(url)
        host, port = found.host, found.explicit_port
    except ValueError:
        raise _refused("this is no address") from None
    if found.scheme not in ("http", "https") or not host:
        raise _refused(
            "an address begins with https://, or with http:// within a network that the site allows"
        )
    if found.user is not None or found.password is not None:
        raise _refused("an address holds no user and no password; the signature tells who sends")
    if port is not None and port < 1024 and port not in (80, 443):
        raise _refused(
            f"port {port} is not one that webhooks are sent to", "it is 80, 443, or 1024 and above"
        )
    is_this_host = host.rstrip(".").lower().endswith("localhost")
    address = _numeric("127.0.0.1" if is_this_host else host)
    if address is not None:
        is_allowed = is_named(address, networks) or (found.scheme == "https" and is_outside(address))
        if not is_allowed:
            raise _refused(INSIDE, "an operator allows networks by MUSTER_GATEWAY__WEBHOOKS__NETWORKS")
    return found


class _Resolver(AbstractResolver):
    """Looks names up on threads of its own: one whose servers answer slowly holds up nothing else."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(_RESOLVERS, "webhook-names")

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
        """The pool is closed with the poster, which two sessions share it in."""


def _numeric(host: str) -> Address | None:
    """The address that a host is in one of the many spellings of numbers, such as `127.1` or `0x7f000001`; None for a name."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return parse_address(str(found[0][4][0]))


def _socket(found: Any, *, allowed: bool) -> socket.socket:
    if not allowed:
        raise InsideError
    return socket.socket(found[0], found[1], found[2])


def _attempt_of(answer: aiohttp.ClientResponse) -> Attempt:
    status = answer.status
    if 200 <= status < 300:
        return Attempt(status)
    if 300 <= status < 400:
        return Attempt(status, f"it answered {status}; redirects are not followed")
    waited = answer.headers.get("Retry-After", "")
    retry_after = timedelta(seconds=int(waited)) if waited.isdecimal() and len(waited) < 7 else None
    return Attempt(status, f"it answered {status}", retry_after)


def _refused(message: str, hint: str | None = None) -> Rejected:
    return Rejected("address_refused", message, "url", hint)

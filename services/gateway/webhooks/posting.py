"""Sends HTTP POST requests to URLs of tenants: on the internet and in networks that the site allows. Internal addresses are refused, whatever a name resolves to."""

import socket
import unicodedata
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from services.gateway.platform.outbound.addresses import Address, Network, is_named, is_outside, parse_address
from services.gateway.platform.outbound.client import INTERNAL_ADDRESS, OutboundClient
from services.gateway.webhooks.core import DeliveryAttempt
from shared.errors import Rejected

_CONTROL = frozenset({"Cc", "Cf", "Zl", "Zp"})
"""Unicode categories of control and format characters and of line separators."""


class WebhookPoster:
    """Sends one request per post, to addresses that `OutboundClient` allows, and reads only the status and headers of the answer."""

    def __init__(self, networks: Sequence[Network], timeout_s: float) -> None:
        self._networks = tuple(networks)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._outward = OutboundClient(self._networks)

    async def __aenter__(self) -> Self:
        await self._outward.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._outward.__aexit__(kind, error, trace)

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> DeliveryAttempt:
        """Send a request and return the result. Errors are described without details about internal networks."""
        try:
            target = check_url(url, self._networks)
            post = self._outward.session(target.scheme).post
            async with post(
                target, headers=headers, data=body, allow_redirects=False, timeout=self._timeout
            ) as answer:
                answer.close()
                return _attempt_of(answer)
        except Rejected as error:
            return DeliveryAttempt(error=error.message)
        except TimeoutError:
            return DeliveryAttempt(error=f"no answer within {self._timeout.total:g} s")
        except aiohttp.ClientConnectorDNSError:
            return DeliveryAttempt(error="the host name could not be resolved")
        except aiohttp.ClientSSLError:
            return DeliveryAttempt(error="TLS handshake failed: the host's certificate is not trusted")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return DeliveryAttempt(
                error=INTERNAL_ADDRESS
                if INTERNAL_ADDRESS in str(error)
                else "the connection failed or was closed"
            )


def check_url(url: str, networks: Sequence[Network]) -> URL:
    """Parse a URL and check it as far as that is possible without resolving names.

    Raises:
        Rejected: the URL is malformed, contains a password, or has an internal IP address in any spelling as its host.
    """
    if any(unicodedata.category(character) in _CONTROL for character in url):
        raise _refused(
            "a webhook URL cannot contain control characters such as line breaks", "percent-encode them"
        )
    try:
        found = URL(url)
        host, port = found.host, found.explicit_port
    except ValueError:
        raise _refused("this is not a valid URL") from None
    if found.scheme not in ("http", "https") or not host:
        raise _refused(
            "a webhook URL starts with https://, or with http:// within a network that the site allows"
        )
    if found.user is not None or found.password is not None:
        raise _refused(
            "a webhook URL cannot contain a user or a password",
            "verify the signature of deliveries instead",
        )
    if port is not None and port < 1024 and port not in (80, 443):
        raise _refused(f"webhooks cannot use port {port}", "use port 80, 443, or 1024 and above")
    is_this_host = host.rstrip(".").lower().endswith("localhost")
    address = _numeric("127.0.0.1" if is_this_host else host)
    if address is not None:
        is_allowed = is_named(address, networks) or (found.scheme == "https" and is_outside(address))
        if not is_allowed:
            raise _refused(
                INTERNAL_ADDRESS, "operators allow networks with MUSTER_GATEWAY__WEBHOOKS__ALLOWED_NETWORKS"
            )
    return found


def _numeric(host: str) -> Address | None:
    """Return the IP address that a host spells, also as `127.1` or `0x7f000001`; None for a name."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return parse_address(str(found[0][4][0]))


def _attempt_of(answer: aiohttp.ClientResponse) -> DeliveryAttempt:
    status = answer.status
    if 200 <= status < 300:
        return DeliveryAttempt(status)
    if 300 <= status < 400:
        return DeliveryAttempt(status, f"the receiver answered {status}; redirects are not followed")
    waited = answer.headers.get("Retry-After", "")
    retry_after = timedelta(seconds=int(waited)) if waited.isdecimal() and len(waited) < 7 else None
    return DeliveryAttempt(status, f"the receiver answered {status}", retry_after)


def _refused(message: str, hint: str | None = None) -> Rejected:
    return Rejected("address_refused", message, "url", hint)

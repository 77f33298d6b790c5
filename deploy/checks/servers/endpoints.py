"""Addresses of servers in settings."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

_PORTS = {
    "http": 80, "https": 443, "nats": 4222, "tls": 4222, "ws": 80, "wss": 443, "postgresql": 5432, "postgres": 5432,
    "redis": 6379, "rediss": 6379,
}  # fmt: skip
_TLS = frozenset({"https", "wss", "rediss", "tls"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server reached by network. `setting`: the variable that names it."""

    setting: str
    scheme: str
    host: str
    port: int

    @property
    def uses_tls(self) -> bool:
        return self.scheme in _TLS

    @property
    def is_name(self) -> bool:
        """Whether the host is a name, which a resolver must know."""
        try:
            ip_address(self.host)
        except ValueError:
            return True
        return False


def endpoints_of(setting: str, urls: str) -> tuple[Endpoint, ...]:
    """Return the servers of one or several addresses, comma-separated; unix sockets and invalid addresses are left out."""
    return tuple(found for url in urls.split(",") if (found := _endpoint(setting, url.strip())) is not None)


def _endpoint(setting: str, url: str) -> Endpoint | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname or next(iter(parse_qs(parts.query).get("host", [""])), "")
    if not host or host.startswith("/") or parts.scheme not in _PORTS:
        return None
    return Endpoint(setting, parts.scheme, host, port or _PORTS[parts.scheme])

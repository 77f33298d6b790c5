"""Addresses of servers in settings."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

_PORTS = {
    "http": 80, "https": 443, "nats": 4222, "tls": 4222, "ws": 80, "wss": 443, "postgresql": 5432, "postgres": 5432,
    "redis": 6379, "rediss": 6379,
}  # fmt: skip
_TLS = frozenset({"https", "wss", "rediss", "tls"})
_POSTGRES = frozenset({"postgresql", "postgres"})
_POSTGRES_TLS = frozenset({"require", "verify-ca", "verify-full"})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server reached by network.

    Attributes:
        setting: The variable that names it.
        ssl_mode: Of a Postgres server, what its clients demand of TLS, in libpq's words; `verify-full` for all others.
        ca_file: The authorities that clients of a Postgres server trust; None: those of the machine.
    """

    setting: str
    scheme: str
    host: str
    port: int
    ssl_mode: str = "verify-full"
    ca_file: str | None = None

    @property
    def uses_tls(self) -> bool:
        return self.scheme in _TLS or (self.is_postgres and self.ssl_mode in _POSTGRES_TLS)

    @property
    def is_postgres(self) -> bool:
        return self.scheme in _POSTGRES

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
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    host = parts.hostname or options.get("host", "")
    if not host or host.startswith("/") or parts.scheme not in _PORTS:
        return None
    port = port or _PORTS[parts.scheme]
    if parts.scheme not in _POSTGRES:
        return Endpoint(setting, parts.scheme, host, port)
    ssl_mode = options.get("sslmode", "prefer")
    return Endpoint(setting, parts.scheme, host, port, ssl_mode, options.get("sslrootcert"))

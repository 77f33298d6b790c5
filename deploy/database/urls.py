"""Names and addresses of the database's roles: pure, so that whoever only needs an address loads no driver."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

DATABASE = "muster"
SERVICES = ("gateway", "searcher", "scheduler", "provisioner", "registry")
KINDS = ("owner", "tenant", "system")


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    """What a service is given: three addresses of one database, one per role."""

    owner: str
    tenant: str
    system: str


def role_names() -> tuple[str, ...]:
    """All login roles, `<service>_<kind>`."""
    return tuple(f"{service}_{kind}" for service in SERVICES for kind in KINDS)


def service_urls(
    administrator_url: str, passwords: Mapping[str, str], database: str = DATABASE
) -> dict[str, ServiceUrls]:
    """The addresses for each service, at the administrator's server."""
    return {service: _urls(administrator_url, service, passwords, database) for service in SERVICES}


def on_database(url: str, database: str) -> str:
    """The same server and role, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def _urls(administrator_url: str, service: str, passwords: Mapping[str, str], database: str) -> ServiceUrls:
    owner, tenant, system = (
        _as_role(administrator_url, f"{service}_{kind}", passwords[f"{service}_{kind}"], database)
        for kind in KINDS
    )
    return ServiceUrls(owner=owner, tenant=tenant, system=system)


def _as_role(url: str, role: str, password: str, database: str) -> str:
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(
        (
            "postgresql",
            f"{role}:{quote(password, safe='')}@{place}",
            f"/{database}",
            _options(parts.query),
            "",
        )
    )


def _options(query: str) -> str:
    """The connection's options without those that name somebody."""
    kept = [(name, value) for name, value in parse_qsl(query) if name not in ("user", "password", "dbname")]
    return urlencode(kept, safe="/:")

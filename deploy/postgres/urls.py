"""Names and URLs of the database's roles. Pure, without a database driver.

Postgres roles belong to a server, not to a database. Each service therefore has three roles that hold privileges and are shared by
all databases of a server (`role_names`), and each database has its own login roles with their own passwords (`login_name`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

DATABASE = "muster"
SERVICES = ("gateway", "searcher", "scheduler", "provisioner", "registry")
KINDS = ("owner", "tenant", "system")


@dataclass(frozen=True, slots=True)
class ServiceUrls:
    """The three URLs of a service's database, one per role."""

    owner: str
    tenant: str
    system: str


@dataclass(frozen=True, slots=True)
class PlatformDatabase:
    """The database settings of one platform.

    Attributes:
        administrator_url: a role that may create databases and roles, on any database of the server.
        platform: the platform id.
        passwords: of the database's login roles, one per name of `role_names`.
        name: the database's name.
    """

    administrator_url: str = field(repr=False)
    platform: str
    passwords: Mapping[str, str] = field(repr=False)
    name: str = DATABASE

    @property
    def urls(self) -> dict[str, ServiceUrls]:
        """The URLs for each service."""
        return service_urls(self.administrator_url, self.passwords, self.name)


def role_names(service: str | None = None) -> tuple[str, ...]:
    """Return the roles that hold privileges, `<service>_<kind>`, of one service or all."""
    services = SERVICES if service is None else (service,)
    return tuple(f"{one}_{kind}" for one in services for kind in KINDS)


def login_name(database: str, role: str) -> str:
    """Return the login role of one database for `role`."""
    return f"{database}_{role}"


def service_urls(
    administrator_url: str, passwords: Mapping[str, str], database: str = DATABASE
) -> dict[str, ServiceUrls]:
    """Return the URLs for each service, at the administrator's server.

    Args:
        passwords: one per name of `role_names`, of this database's login roles.
    """
    return {service: _urls(administrator_url, service, passwords, database) for service in SERVICES}


def on_database(url: str, database: str) -> str:
    """Return the URL with another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))


def _urls(administrator_url: str, service: str, passwords: Mapping[str, str], database: str) -> ServiceUrls:
    owner, tenant, system = (
        _as_login(administrator_url, login_name(database, role), passwords[role], database)
        for role in role_names(service)
    )
    return ServiceUrls(owner=owner, tenant=tenant, system=system)


def _as_login(url: str, login: str, password: str, database: str) -> str:
    parts = urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    return urlunsplit(
        (
            "postgresql",
            f"{login}:{quote(password, safe='')}@{address}",
            f"/{database}",
            _options(parts.query),
            "",
        )
    )


def _options(query: str) -> str:
    """Return the connection's options without user, password and database."""
    options = [
        (name, value) for name, value in parse_qsl(query) if name not in ("user", "password", "dbname")
    ]
    return urlencode(options, safe="/:")

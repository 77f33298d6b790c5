"""The database settings of a platform directory: platform id, passwords, and the administrator's address."""

import secrets

from deploy.embedded.options import Options
from deploy.embedded.servers import Home, PostgresServer
from deploy.postgres.urls import PlatformDatabase, role_names
from muster.errors import Broken

PLATFORM_ID = "platform-id"


def own_database(home: Home, options: Options) -> PlatformDatabase:
    """Return the database of the platform in `home`; create missing secrets.

    The database identifies its platform by the id, so a moved or copied directory is the same platform.
    """
    return PlatformDatabase(
        administrator_url=options.postgres_url or PostgresServer(home).administrator_url,
        platform=_platform_id(home),
        passwords={role: home.secret(password_secret(role)) for role in role_names()},
        name=options.database,
    )


def password_secret(role: str) -> str:
    """Return the name of the secret that holds a role's password."""
    return f"postgres-{role}"


def _platform_id(home: Home) -> str:
    """Return the platform's id, created once. It is not secret: the database and error messages contain it."""
    file = home.root / PLATFORM_ID
    if not file.exists():
        fresh = home.root / f"{PLATFORM_ID}.new"
        fresh.write_text(secrets.token_hex(16) + "\n")
        fresh.replace(file)
    platform = file.read_text().strip()
    if not platform:
        raise Broken(
            f"{file} is empty, but it must contain the platform id that the database recorded; restore the id from a backup of the directory"
            " or from the database (SELECT id FROM platform.identity), or remove the file if the platform never started"
        )
    return platform

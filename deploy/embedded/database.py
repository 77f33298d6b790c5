"""What the platform in a folder knows of its database: its own id, its passwords, and the administrator's address."""

import secrets

from deploy.embedded.options import Options
from deploy.embedded.servers import Home, PostgresServer
from deploy.postgres.urls import PlatformDatabase, role_names
from muster.errors import Broken

PLATFORM_ID = "platform-id"


def own_database(home: Home, options: Options) -> PlatformDatabase:
    """The database of the platform in `home`; secrets that are missing are made.

    The id is what the database remembers its platform by, so a folder that was moved or copied is the same platform.
    """
    return PlatformDatabase(
        administrator_url=options.postgres_url or PostgresServer(home).administrator_url,
        platform=_platform_id(home),
        passwords={role: home.secret(password_secret(role)) for role in role_names()},
        name=options.database,
    )


def password_secret(role: str) -> str:
    """The name of the secret that holds a role's password."""
    return f"postgres-{role}"


def _platform_id(home: Home) -> str:
    """The platform's id, made once. It is no secret: the database and error messages have it too."""
    file = home.root / PLATFORM_ID
    if not file.exists():
        fresh = home.root / f"{PLATFORM_ID}.new"
        fresh.write_text(secrets.token_hex(16) + "\n")
        fresh.replace(file)
    platform = file.read_text().strip()
    if not platform:
        raise Broken(
            f"{file} is empty, and a database is recognised by the id in it; write the id back from a backup of the folder"
            " or from the database (SELECT id FROM platform.identity), or remove the file if the platform never started"
        )
    return platform

"""The migration step: the only place where a schema owner's login is used."""

from deploy.postgres.setup import set_up_database
from deploy.postgres.urls import PlatformDatabase
from shared.database.upgrading import migrate


async def set_up_and_migrate(wanted: PlatformDatabase, *, owns_server: bool = False) -> None:
    """Create missing parts of the database (`set_up_database`), then migrate every service's schema to this release.

    Raises:
        Rejected: a schema is newer or older than this release can use (`schema_too_new`, `schema_too_old`), or the name is invalid.
        Conflict: as `set_up_database`.
    """
    await set_up_database(wanted, owns_server=owns_server)
    await migrate_schemas(wanted)


async def migrate_schemas(wanted: PlatformDatabase) -> None:
    """Migrate every service's schema to this release.

    Raises:
        Rejected: a schema is newer or older than this release can use (`schema_too_new`, `schema_too_old`).
    """
    # One after the other: Alembic's context is global.
    for service, urls in wanted.urls.items():
        await migrate(urls.owner, service)

"""Migrates a service's schema to the newest revision of its release, or accepts a newer schema that this release can still use.

`migrate` runs as the schema's owner, in the migration step only (`muster up`, `muster database migrate`). Services call `check_schema`.

A schema records its revision, the oldest revision whose release can use it (`compatible_from`), and the release that wrote it. A migration
that only adds repeats its predecessor's `compatible_from`. One that removes something names the first revision that no longer used it. This way
a rollback, and a replica that restarts during a rolling upgrade, start on the newer schema. It also records its first migration: schemas from
before 0.2.0 lack it, and are refused, because their migrations were removed.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import column, func, select, table
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from shared.database.engine import driver_url, translated
from shared.errors import Rejected, Transient
from shared.settings import PostgresSettings
from shared.version import platform_version

_REVISION = re.compile(r'^(down_)?revision\b.*= "(.+)"$', re.MULTILINE)
_FOLDER = Path(__file__).parent
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of a schema's state.

    Attributes:
        revision: The newest migration applied; None before the first.
        compatible_from: The oldest revision whose release can use it; None if no release recorded it.
        release: The release that wrote this.
        initial_revision: The first migration applied; None if a version before 0.2.0 created the schema.
    """

    revision: str | None = None
    compatible_from: str | None = None
    release: str | None = None
    initial_revision: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The revisions of one release, and the newest of them."""

    revisions: frozenset[str]
    newest: str


async def migrate(owner_url: str, service: str, versions: Path | None = None) -> None:
    """Migrate the service's schema to its newest revision under an advisory lock. Steps that start together wait for one.

    If the schema is current, this takes one query and does not import Alembic.

    Args:
        owner_url: Login of the schema's owner.
        versions: Folder of the release's migrations; default: the service's own.

    Raises:
        Rejected: The schema is newer and this release cannot use it (`schema_too_new`), or a version before 0.2.0 created it
            (`schema_too_old`).
    """
    folder = versions or _versions_of(service)
    known, key = read_known(folder), func.hashtextextended(f"muster:{service}", 0)
    engine = create_async_engine(driver_url(owner_url), pool_size=1)
    try:
        async with translated(), engine.connect() as connection:
            if not needs_upgrade(service, await _load_recorded(connection, service), known):
                return
            await connection.rollback()
            await connection.execute(select(func.pg_advisory_lock(key)))
            await connection.commit()
            try:
                # Another step, perhaps of a newer release, may have migrated the schema meanwhile.
                if needs_upgrade(service, await _load_recorded(connection, service), known):
                    await connection.run_sync(lambda sync: _upgrade(sync, service, folder))
                await connection.commit()
            finally:
                # A failed revision aborts its transaction; another statement in it would hide the reason.
                await connection.rollback()
                await connection.execute(select(func.pg_advisory_unlock(key)))
                await connection.commit()
    finally:
        await engine.dispose()


async def check_schema(settings: PostgresSettings, service: str) -> None:
    """Check as the service, which cannot migrate, that this release can use the schema.

    Raises:
        Transient: The schema is not migrated yet.
        Rejected: The schema is newer or older than this release can use (as `migrate`).
    """
    if settings.owner_url is not None:
        _log.warning("a service does not use MUSTER_POSTGRES__OWNER_URL; remove it", schema=service)
    known = read_known(_versions_of(service))
    engine = create_async_engine(driver_url(settings.system_url.get_secret_value()), poolclass=NullPool)
    try:
        async with translated(), engine.connect() as connection:
            name = f"{service}.alembic_version"
            readable = func.has_table_privilege(func.to_regclass(name), "SELECT")
            is_readable = await connection.scalar(select(readable))
            recorded = await _load_recorded(connection, service) if is_readable else Recorded()
    finally:
        await engine.dispose()
    if needs_upgrade(service, recorded, known):
        raise Transient(
            f"the schema {service} is not at revision {known.newest}, which release {platform_version()} requires:"
            " run `muster database migrate`"
        )


def needs_upgrade(service: str, recorded: Recorded, known: Known) -> bool:
    """Return whether this release has migrations that the schema lacks.

    A release contains all migrations before its newest. So it can use a schema exactly if it contains `compatible_from`.

    Raises:
        Rejected: The schema is newer, and this release cannot use it, or a version before 0.2.0 created it.
    """
    if recorded.revision is None:
        return True
    # Not by revision: the ids of the removed migrations can be used again.
    if recorded.initial_revision is None:
        raise Rejected(
            "schema_too_old",
            f"the schema {service} (revision {recorded.revision}) was created by a version before 0.2.0; it cannot be upgraded, because"
            " 0.2.0 replaced all earlier migrations by one initial migration",
            hint="start with an empty database: set MUSTER_POSTGRES__DATABASE to another name, or, if `muster up` starts Postgres itself,"
            " MUSTER_HOME to another folder; see docs/upgrading.md",
        )
    if recorded.revision == known.newest:
        return False
    if recorded.revision in known.revisions:
        return True
    if recorded.compatible_from in known.revisions:
        _log.warning(
            "a newer schema was accepted",
            schema=service,
            revision=recorded.revision,
            written_by=recorded.release,
            compatible_from=recorded.compatible_from,
            own_revision=known.newest,
        )
        return False
    needed = recorded.compatible_from or recorded.revision
    raise Rejected(
        "schema_too_new",
        f"the schema {service} is at revision {recorded.revision}, written by release {recorded.release or 'unknown'}; it requires"
        f" a release that contains revision {needed}, but this is release {platform_version()}, whose newest revision is {known.newest}",
        hint=f"start release {recorded.release or 'that wrote it'} or newer again, or restore the backup from before the upgrade and"
        " then start this release; see docs/upgrading.md",
    )


def read_known(folder: Path) -> Known:
    """Return the revisions in a folder. Raises ValueError unless exactly one is the newest."""
    found = [match for file in folder.glob("*.py") for match in _REVISION.findall(file.read_text())]
    revisions = frozenset(name for down, name in found if not down)
    (newest,) = revisions - {name for down, name in found if down}
    return Known(revisions, newest)


def _versions_of(service: str) -> Path:
    return _FOLDER.parents[1] / "services" / service / "migrations" / "versions"


async def _load_recorded(connection: AsyncConnection, service: str) -> Recorded:
    if await connection.scalar(select(func.to_regclass(f"{service}.alembic_version"))) is None:
        return Recorded()
    version = table("alembic_version", column("version_num"), schema=service)
    # As JSON, because older releases created the table without the other columns.
    whole = func.to_jsonb(version.table_valued(), type_=JSONB)
    row: dict[str, Any] = await connection.scalar(select(whole)) or {}
    return Recorded(
        row.get("version_num"), row.get("compatible_from"), row.get("release"), row.get("initial_revision")
    )


def _upgrade(connection: Any, service: str, folder: Path) -> None:
    # Imported here: a start without migrations should not load Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER / "migrations"))
    config.set_main_option("version_locations", str(folder))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["schema"] = service
    command.upgrade(config, "head")

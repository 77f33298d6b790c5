"""Brings a service's schema to the newest revision of its release, or accepts a newer schema that still serves this release.

A schema records, beside its revision, the oldest revision whose release can use it (`compatible_from`) and the release that wrote it. A
migration that only adds names its predecessor's `compatible_from` again; one that takes something away names the first revision that no
longer used it. So a rollback, and a replica that restarts during a rolling upgrade, start on the newer schema.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy import column, func, select, table
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from shared.database.engine import driver_url, translated
from shared.errors import Rejected
from shared.settings import PostgresSettings
from shared.version import platform_version

_REVISION = re.compile(r'^(down_)?revision\b.*= "(.+)"$', re.MULTILINE)
_PLACE = Path(__file__).parent
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a schema says of itself.

    Attributes:
        revision: the newest migration that it has; None before the first.
        compatible_from: the oldest revision whose release can use it; None if no release recorded it.
        release: the release that wrote this.
    """

    revision: str | None = None
    compatible_from: str | None = None
    release: str | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The revisions of one release, and the newest of them."""

    revisions: frozenset[str]
    newest: str


async def migrate(settings: PostgresSettings, service: str, versions: Path | None = None) -> None:
    """Bring the service's schema to its newest revision under an advisory lock; replicas that start together wait for one.

    A schema that is new enough costs one question, and no import of Alembic.

    Args:
        versions: the folder of the release's migrations; the service's own when left out.

    Raises:
        Rejected: the schema is newer than this release and no longer serves it (`schema_too_new`).
    """
    folder = versions or _PLACE.parents[1] / "services" / service / "migrations" / "versions"
    known, key = read_known(folder), func.hashtextextended(f"muster:{service}", 0)
    engine = create_async_engine(driver_url(settings.owner_url.get_secret_value()), pool_size=1)
    try:
        async with translated(), engine.connect() as connection:
            if not needs_upgrade(service, await _recorded(connection, service), known):
                return
            await connection.rollback()
            await connection.execute(select(func.pg_advisory_lock(key)))
            await connection.commit()
            try:
                # While this replica waited, another may have brought the schema further than this release knows.
                if needs_upgrade(service, await _recorded(connection, service), known):
                    await connection.run_sync(lambda sync: _upgrade(sync, service, folder))
                await connection.commit()
            finally:
                # A failed revision leaves its transaction aborted; asking for anything in it would hide the reason.
                await connection.rollback()
                await connection.execute(select(func.pg_advisory_unlock(key)))
                await connection.commit()
    finally:
        await engine.dispose()


def needs_upgrade(service: str, recorded: Recorded, known: Known) -> bool:
    """Whether this release has migrations that the schema lacks.

    A release contains all migrations before its newest. So it is new enough for a schema exactly if it contains `compatible_from`.

    Raises:
        Rejected: the schema is newer, and this release cannot use it.
    """
    if recorded.revision == known.newest:
        return False
    if recorded.revision is None or recorded.revision in known.revisions:
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
        f"the schema {service} is at revision {recorded.revision}, written by release {recorded.release or 'unknown'}, and serves"
        f" releases that contain revision {needed}; this is release {platform_version()}, whose newest revision is {known.newest}",
        hint=f"start release {recorded.release or 'that wrote it'} or newer again, or restore the backup from before the upgrade and"
        " then start this release; see docs/upgrading.md",
    )


def read_known(folder: Path) -> Known:
    """The revisions of a folder, as its files say. Raises ValueError where not exactly one is built on by no other."""
    found = [match for file in folder.glob("*.py") for match in _REVISION.findall(file.read_text())]
    revisions = frozenset(name for down, name in found if not down)
    (newest,) = revisions - {name for down, name in found if down}
    return Known(revisions, newest)


async def _recorded(connection: AsyncConnection, service: str) -> Recorded:
    if await connection.scalar(select(func.to_regclass(f"{service}.alembic_version"))) is None:
        return Recorded()
    version = table("alembic_version", column("version_num"), schema=service)
    # As JSON, because releases before this one made the table without the other columns.
    whole = func.to_jsonb(version.table_valued(), type_=JSONB)
    row: dict[str, Any] = await connection.scalar(select(whole)) or {}
    return Recorded(row.get("version_num"), row.get("compatible_from"), row.get("release"))


def _upgrade(connection: Any, service: str, folder: Path) -> None:
    # Imported here: a start that finds nothing to do should not pay for Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_PLACE / "migrations"))
    config.set_main_option("version_locations", str(folder))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["schema"] = service
    command.upgrade(config, "head")

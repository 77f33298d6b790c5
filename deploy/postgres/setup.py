"""Sets up one platform's database: creates missing parts, and refuses a database that belongs to another platform.

The database records its platform by the id in the platform's directory. Set-up is idempotent and keeps existing passwords,
except on the platform's own server; only `set_passwords` and `take_over` change them.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from deploy.postgres.roles import allow_logins, create_logins, create_roles, drop_logins, grant, set_password
from deploy.postgres.urls import PlatformDatabase, login_name, on_database
from muster.errors import Conflict, Rejected

SETUP_LOCK = 0x6D75737465
"""Advisory lock on the administrator's database during changes of the server's roles."""
DATABASE_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_ID_CHARS = 8
_IDENTITY = (
    "CREATE SCHEMA IF NOT EXISTS platform; CREATE TABLE IF NOT EXISTS platform.identity ("
    "id text NOT NULL, singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), since timestamptz NOT NULL DEFAULT now())"
)
"""One row with the id of the database's platform. Only the administrator can read it."""


async def set_up_database(wanted: PlatformDatabase, *, owns_server: bool = False) -> None:
    """Create missing parts: database, roles, logins and schemas.

    Args:
        owns_server: the server's data is in the platform's directory, whose passwords replace different ones.

    Raises:
        Rejected: the name is invalid (`bad_settings`).
        Conflict: the database belongs to another platform (`database_taken`), or its login roles have other passwords than this
            platform's (`other_passwords`).
    """
    check_name(wanted.name)
    async with _server(wanted) as server:
        if not await _exists(server, wanted.name):
            await server.execute(f'CREATE DATABASE "{wanted.name}"')
        async with _inside(wanted) as inside:
            await _claim(inside, wanted)
            before = await _make_roles(server, inside, wanted, wanted.passwords if owns_server else {})
    await _check_passwords(wanted, before)


async def set_passwords(wanted: PlatformDatabase, passwords: Mapping[str, str]) -> None:
    """Replace the passwords of some logins, all or none. Open connections stay; new ones need the new password.

    Raises:
        Rejected: there is no such database (`no_database`).
        Conflict: the database belongs to no platform (`database_unclaimed`) or another one (`database_taken`).
    """
    async with _existing(wanted) as (server, inside):
        owner = await _owner(inside)
        if owner is None:
            raise Conflict(
                "database_unclaimed",
                f"the database {wanted.name} belongs to no platform yet; no password was changed",
                hint="`muster database init` sets it up for the platform in MUSTER_HOME",
            )
        _check_owner(owner, wanted)
        await _make_roles(server, inside, wanted, passwords)


async def load_owner(wanted: PlatformDatabase) -> str | None:
    """Return the id of the database's platform; None if it has none.

    Raises:
        Rejected: there is no such database (`no_database`).
    """
    async with _existing(wanted) as (_, inside):
        return await _owner(inside)


async def take_over(wanted: PlatformDatabase) -> None:
    """Set this platform's passwords for the logins, and record this platform as the owner.

    The record is written last, so that an interrupted call can be repeated.

    Raises:
        Rejected: there is no such database (`no_database`).
        Conflict: it belongs to this platform already (`already_owned`).
    """
    async with _existing(wanted) as (server, inside):
        if await _owner(inside) == wanted.platform:
            raise Conflict(
                "already_owned",
                f"the database {wanted.name} belongs to this platform already (id {short_id(wanted.platform)}); nothing was changed",
                hint="if its logins have other passwords than the platform's folder, run `muster database rotate`",
            )
        await _make_roles(server, inside, wanted, wanted.passwords)
        await inside.execute(_IDENTITY)
        await inside.execute(
            "INSERT INTO platform.identity VALUES ($1)"
            " ON CONFLICT (singleton) DO UPDATE SET id = EXCLUDED.id, since = now()",
            wanted.platform,
        )


async def drop_database(administrator_url: str, database: str) -> None:
    """Drop a database with its logins, even while sessions use it."""
    server = await asyncpg.connect(administrator_url)
    try:
        await server.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
        await server.execute(drop_logins(database))
    finally:
        await server.close()


def check_name(database: str) -> None:
    """Raise Rejected if the name cannot be a database name and the prefix of login names."""
    if not DATABASE_NAME.fullmatch(database):
        raise Rejected(
            "bad_settings",
            f"{database!r} is not a valid name for the platform's database",
            "MUSTER_POSTGRES__DATABASE",
            "use lower-case letters, digits and '_', at most 41, beginning with a letter",
        )


async def _make_roles(
    server: Any, inside: Any, wanted: PlatformDatabase, replaced: Mapping[str, str]
) -> frozenset[str]:
    """Create missing roles and schemas, and set some logins' passwords; return the roles that existed before."""
    roles = await server.fetch("SELECT rolname FROM pg_roles")
    existing = frozenset(row["rolname"] for row in roles)
    changes = [
        *create_roles(existing),
        *create_logins(wanted.name, {**wanted.passwords, **replaced}, existing),
        *(
            set_password(wanted.name, role, password)
            for role, password in replaced.items()
            if login_name(wanted.name, role) in existing
        ),
    ]
    await server.execute("; ".join([*changes, "SELECT 1"]))
    await inside.execute("; ".join(grant(wanted.name)))
    await server.execute("; ".join(allow_logins(wanted.name)))
    return existing


async def _exists(server: Any, database: str) -> bool:
    return bool(await server.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", database))


async def _claim(inside: Any, wanted: PlatformDatabase) -> None:
    """Record this platform as the owner, unless there is one. Raises Conflict if that is another platform."""
    await inside.execute(_IDENTITY)
    await inside.execute("INSERT INTO platform.identity VALUES ($1) ON CONFLICT DO NOTHING", wanted.platform)
    _check_owner(await inside.fetchval("SELECT id FROM platform.identity"), wanted)


async def _owner(inside: Any) -> str | None:
    """Return the platform recorded in the database; None if there is none."""
    if not await inside.fetchval("SELECT to_regclass('platform.identity') IS NOT NULL"):
        return None
    owner: str | None = await inside.fetchval("SELECT id FROM platform.identity")
    return owner


def _check_owner(owner: str, wanted: PlatformDatabase) -> None:
    """Raise Conflict if the database belongs to another platform."""
    if owner == wanted.platform:
        return
    raise Conflict(
        "database_taken",
        f"the database {wanted.name} belongs to another platform (id {short_id(owner)}, this one's is {short_id(wanted.platform)});"
        " nothing was changed",
        hint="two platforms cannot share a database: set MUSTER_POSTGRES__DATABASE to another name, or MUSTER_HOME to the directory of the"
        " platform that owns it (a copy counts as the same platform); if that directory is lost, run `muster database take-over`",
    )


async def _check_passwords(wanted: PlatformDatabase, before: Collection[str]) -> None:
    """Log in once with each login role that existed before."""
    urls = [url for one in wanted.urls.values() for url in (one.owner, one.tenant, one.system)]
    known = [url for url in urls if urlsplit(url).username in before]
    refused = sorted(filter(None, await asyncio.gather(*map(_refused, known))))
    if refused:
        raise Conflict(
            "other_passwords",
            f"the login roles {', '.join(refused)} have other passwords than this platform's folder holds; no password was changed",
            hint="restore the platform's folder, or run `muster database rotate` to give them new passwords",
        )


async def _refused(url: str) -> str | None:
    """Return the name of the login if Postgres rejects its password."""
    try:
        await (await asyncpg.connect(url)).close()
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError):
        return urlsplit(url).username
    return None


@asynccontextmanager
async def _server(wanted: PlatformDatabase) -> AsyncIterator[Any]:
    """The administrator's connection, with the lock against concurrent set-ups."""
    server = await asyncpg.connect(wanted.administrator_url)
    try:
        await server.execute("SELECT pg_advisory_lock($1)", SETUP_LOCK)
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def _existing(wanted: PlatformDatabase) -> AsyncIterator[tuple[Any, Any]]:
    """The administrator's connections to the server, with the lock, and to the database. Raises Rejected if the database does not exist."""
    check_name(wanted.name)
    async with _server(wanted) as server:
        if not await _exists(server, wanted.name):
            raise Rejected(
                "no_database",
                f"the server has no database {wanted.name}; nothing was changed",
                "MUSTER_POSTGRES__DATABASE",
                "name the platform's database, or run `muster database init` to create it",
            )
        async with _inside(wanted) as inside:
            yield server, inside


@asynccontextmanager
async def _inside(wanted: PlatformDatabase) -> AsyncIterator[Any]:
    inside = await asyncpg.connect(on_database(wanted.administrator_url, wanted.name))
    try:
        yield inside
    finally:
        await inside.close()


def short_id(platform: str) -> str:
    """Return a short form of a platform id for messages."""
    return platform[:_ID_CHARS]

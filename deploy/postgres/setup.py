"""Sets up one platform's database: creates what is missing, and refuses a database that belongs to another platform.

The database records which platform it belongs to, by the id that the platform's folder holds. Set-up is repeatable and changes no
existing password, except on the platform's own server; an operator runs `set_passwords` and `take_over` by name.
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
"""Held, on the administrator's own database, by whoever creates or changes roles of the server."""
DATABASE_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_ID_CHARS = 8
_IDENTITY = (
    "CREATE SCHEMA IF NOT EXISTS platform; CREATE TABLE IF NOT EXISTS platform.identity ("
    "id text NOT NULL, singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), since timestamptz NOT NULL DEFAULT now())"
)
"""One row: the id of the platform that the database belongs to. Only the administrator may read it."""


async def set_up_database(wanted: PlatformDatabase, *, owns_server: bool = False) -> None:
    """Create the database, its roles, logins and schemas where they are missing.

    Args:
        owns_server: the server's data is in the platform's folder, so the folder's passwords replace those that differ.

    Raises:
        Rejected: the name cannot be used (`bad_settings`).
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
    """Replace the passwords of some roles' logins, all or none. Open connections stay; new ones need the new password.

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
    """Return the id of the platform that the database belongs to; None: of none.

    Raises:
        Rejected: there is no such database (`no_database`).
    """
    async with _existing(wanted) as (_, inside):
        return await _owner(inside)


async def take_over(wanted: PlatformDatabase) -> None:
    """Give the logins this platform's passwords, and record this platform as the database's.

    The record comes last, so that one that is cut short can be repeated.

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
    """Remove a database with its contents and its logins, even while sessions use it."""
    server = await asyncpg.connect(administrator_url)
    try:
        await server.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
        await server.execute(drop_logins(database))
    finally:
        await server.close()


def check_name(database: str) -> None:
    """Raises Rejected for a name that cannot be a database's and the beginning of its logins' names."""
    if not DATABASE_NAME.fullmatch(database):
        raise Rejected(
            "bad_settings",
            f"{database!r} cannot name the platform's database",
            "MUSTER_POSTGRES__DATABASE",
            "use lower-case letters, digits and '_', at most 41, beginning with a letter",
        )


async def _make_roles(
    server: Any, inside: Any, wanted: PlatformDatabase, replaced: Mapping[str, str]
) -> frozenset[str]:
    """Create roles and schemas that are missing, and give some roles' logins another password; returns the roles as they were."""
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
    """Record this platform as the database's, unless one is recorded. Raises Conflict where that is another."""
    await inside.execute(_IDENTITY)
    await inside.execute("INSERT INTO platform.identity VALUES ($1) ON CONFLICT DO NOTHING", wanted.platform)
    _check_owner(await inside.fetchval("SELECT id FROM platform.identity"), wanted)


async def _owner(inside: Any) -> str | None:
    """The platform that the database records; None where it records none."""
    if not await inside.fetchval("SELECT to_regclass('platform.identity') IS NOT NULL"):
        return None
    owner: str | None = await inside.fetchval("SELECT id FROM platform.identity")
    return owner


def _check_owner(owner: str, wanted: PlatformDatabase) -> None:
    """Raises Conflict where the database is another platform's."""
    if owner == wanted.platform:
        return
    raise Conflict(
        "database_taken",
        f"the database {wanted.name} belongs to another platform (id {short_id(owner)}, this one's is {short_id(wanted.platform)});"
        " nothing was changed",
        hint="two platforms cannot share a database: name another one in MUSTER_POSTGRES__DATABASE, or set MUSTER_HOME to the folder of the"
        " platform that has it (a copy counts as the same platform); if that folder is lost, run `muster database take-over`",
    )


async def _check_passwords(wanted: PlatformDatabase, before: Collection[str]) -> None:
    """Log in once as each login role that was there before."""
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
    """The name of the login if Postgres does not accept the password."""
    try:
        await (await asyncpg.connect(url)).close()
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError):
        return urlsplit(url).username
    return None


@asynccontextmanager
async def _server(wanted: PlatformDatabase) -> AsyncIterator[Any]:
    """The administrator's connection, with the lock that keeps other set-ups out."""
    server = await asyncpg.connect(wanted.administrator_url)
    try:
        await server.execute("SELECT pg_advisory_lock($1)", SETUP_LOCK)
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def _existing(wanted: PlatformDatabase) -> AsyncIterator[tuple[Any, Any]]:
    """The administrator's connections to the server, with the lock, and to the database. Raises Rejected where there is no such database."""
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
    """As much of an id as people compare."""
    return platform[:_ID_CHARS]

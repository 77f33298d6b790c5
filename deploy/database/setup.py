"""Sets up one platform's database: creates what is missing, and refuses a database that belongs to another platform.

The database records which platform it belongs to, by the id that the platform's folder holds. Everything here is repeatable and changes
no existing password; `set_passwords` and `take_over` are what an operator asks for by name.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from deploy.database.roles import (
    allow_logins,
    create_logins,
    create_roles,
    drop_logins,
    grant,
    set_password,
)
from deploy.database.urls import PlatformDatabase, login_name, on_database
from muster.errors import Conflict, Rejected

SETUP_LOCK = 0x6D75737465
"""Held, on the administrator's own database, by whoever creates or changes roles of the server."""
DATABASE_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_SHOWN_CHARS = 8
_IDENTITY = (
    "CREATE SCHEMA IF NOT EXISTS platform; CREATE TABLE IF NOT EXISTS platform.identity ("
    "id text NOT NULL, singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), since timestamptz NOT NULL DEFAULT now())"
)
"""One row: the id of the platform that the database belongs to. Only the administrator may read it."""


async def set_up_database(wanted: PlatformDatabase) -> None:
    """Create the database, its roles, logins and schemas where they are missing.

    Raises:
        Rejected: the name cannot be used (`bad_settings`).
        Conflict: the database belongs to another platform (`database_taken`), or its login roles have other passwords than this
            platform's (`other_passwords`).
    """
    await _check_passwords(wanted, await _set_up(wanted, {}))


async def set_passwords(wanted: PlatformDatabase, passwords: Mapping[str, str]) -> None:
    """Replace the passwords of some roles' logins. Open connections stay; new ones need the new password.

    Raises:
        Conflict: the database belongs to another platform (`database_taken`).
    """
    await _set_up(wanted, passwords)


async def take_over(wanted: PlatformDatabase) -> str | None:
    """Record this platform as the database's and give the logins its passwords; returns the start of the former platform's id, if any.

    Raises:
        Rejected: there is no such database (`no_database`).
    """
    check_name(wanted.name)
    async with _server(wanted) as server:
        if not await _exists(server, wanted.name):
            raise Rejected(
                "no_database",
                f"the server has no database {wanted.name}, so there is nothing to take over",
                "MUSTER_POSTGRES__DATABASE",
                "`muster database init` creates it",
            )
        async with _inside(wanted) as inside:
            await inside.execute(_IDENTITY)
            before: str | None = await inside.fetchval("SELECT id FROM platform.identity")
            await inside.execute(
                "INSERT INTO platform.identity VALUES ($1)"
                " ON CONFLICT (singleton) DO UPDATE SET id = EXCLUDED.id, since = now()",
                wanted.platform,
            )
    await _set_up(wanted, wanted.passwords)
    return shown(before) if before and before != wanted.platform else None


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


async def _set_up(wanted: PlatformDatabase, replaced: Mapping[str, str]) -> frozenset[str]:
    """Create what is missing, and give some roles' logins another password; returns the roles of the server as they were."""
    check_name(wanted.name)
    async with _server(wanted) as server:
        if not await _exists(server, wanted.name):
            await server.execute(f'CREATE DATABASE "{wanted.name}"')
        async with _inside(wanted) as inside:
            await _claim(inside, wanted)
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
    owner = await inside.fetchval("SELECT id FROM platform.identity")
    if owner == wanted.platform:
        return
    raise Conflict(
        "database_taken",
        f"the database {wanted.name} belongs to another platform (id {shown(owner)}, this one's is {shown(wanted.platform)});"
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
async def _inside(wanted: PlatformDatabase) -> AsyncIterator[Any]:
    inside = await asyncpg.connect(on_database(wanted.administrator_url, wanted.name))
    try:
        yield inside
    finally:
        await inside.close()


def shown(platform: str) -> str:
    """As much of an id as people compare."""
    return platform[:_SHOWN_CHARS]

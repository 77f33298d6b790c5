"""The database's roles and schemas: for each service a schema, its owner (migrations), its tenant role and its system role.

Repeatable: what exists is kept, passwords are set to what the caller holds. Tables and policies come from the services' migrations.
"""

import re
from collections.abc import Mapping

import asyncpg

from deploy.database.urls import (
    DATABASE,
    KINDS,
    SERVICES,
    ServiceUrls,
    on_database,
    role_names,
    service_urls,
)

CREATION_LOCK = 0x6D75737465
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


async def create_database(
    administrator_url: str, passwords: Mapping[str, str], database: str = DATABASE
) -> dict[str, ServiceUrls]:
    """Make the database, its roles and schemas where they are missing, and set the roles' passwords.

    Args:
        administrator_url: a role that may create databases and roles, on any database of the server.
        passwords: one per name of `role_names`.
        database: the database's name.

    Returns:
        The addresses for each service.
    """
    if not _NAME.fullmatch(database):
        raise ValueError(f"{database!r} cannot name a database: lower-case letters, digits and '_' only")
    server = await asyncpg.connect(administrator_url)
    try:
        await server.execute("SELECT pg_advisory_lock($1)", CREATION_LOCK)
        if not await server.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", database):
            await server.execute(f'CREATE DATABASE "{database}"')
        existing = {row["rolname"] for row in await server.fetch("SELECT rolname FROM pg_roles")}
        for role in role_names():
            await server.execute(_role_statement(role, passwords[role], role in existing))
        inside = await asyncpg.connect(on_database(administrator_url, database))
        try:
            for statement in _privileges(database):
                await inside.execute(statement)
            # Last: a service that was started already is let in when all is there, and not before.
            for role in role_names():
                await inside.execute(f"ALTER ROLE {role} LOGIN")
        finally:
            await inside.close()
    finally:
        await server.close()
    return service_urls(administrator_url, passwords, database)


async def drop_database(administrator_url: str, database: str) -> None:
    """Remove a database with all in it, whoever is connected; its roles stay."""
    server = await asyncpg.connect(administrator_url)
    try:
        await server.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
    finally:
        await server.close()


def _role_statement(role: str, password: str, exists: bool) -> str:
    begin = f"ALTER ROLE {role}" if exists else f"CREATE ROLE {role} NOLOGIN"
    quoted = password.replace("'", "''")
    return f"{begin} NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS NOREPLICATION PASSWORD '{quoted}'"


def _privileges(database: str) -> list[str]:
    statements = [
        f'REVOKE ALL ON DATABASE "{database}" FROM PUBLIC',
        "REVOKE ALL ON SCHEMA public FROM PUBLIC",
    ]
    for service in SERVICES:
        owner, tenant, system = (f"{service}_{kind}" for kind in KINDS)
        statements += [
            f"GRANT {owner} TO CURRENT_USER",
            f"CREATE SCHEMA IF NOT EXISTS {service} AUTHORIZATION {owner}",
            f"ALTER SCHEMA {service} OWNER TO {owner}",
            f"REVOKE ALL ON SCHEMA {service} FROM PUBLIC",
            f"GRANT USAGE ON SCHEMA {service} TO {tenant}, {system}",
            f'GRANT CONNECT ON DATABASE "{database}" TO {owner}, {tenant}, {system}',
            *(
                f'ALTER ROLE {role} IN DATABASE "{database}" SET search_path = {service}'
                for role in (owner, tenant, system)
            ),
        ]
    return statements

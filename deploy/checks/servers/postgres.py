"""The database, with both logins of a service."""

import asyncio
from datetime import datetime

import asyncpg

from deploy.checks.findings import Finding, error, ok, warning
from shared.database.upgrading import check_schema
from shared.errors import Rejected, Transient
from shared.settings import PostgresSettings

WHY = "Services keep all state in Postgres, and do not start without it."
LEAST_VERSION = 15
_CONNECT_S = 5.0
_RESERVED = 10
_FACTS = """
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
           pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
           current_setting('max_connections')::int AS connections
"""


def check_postgres(settings: PostgresSettings, service: str) -> Finding:
    """Connect with both logins, and check version, role of the server, connections and schema."""
    return asyncio.run(_check(settings, service))


def read_clock(settings: PostgresSettings) -> datetime:
    """Return the server's time."""

    async def read() -> datetime:
        connection = await asyncpg.connect(settings.system_url.get_secret_value(), timeout=_CONNECT_S)
        try:
            found: datetime = await connection.fetchval("SELECT clock_timestamp()")
        finally:
            await connection.close()
        return found

    return asyncio.run(read())


async def _check(settings: PostgresSettings, service: str) -> Finding:
    facts = None
    for name in ("tenant_url", "system_url"):
        setting = f"MUSTER_POSTGRES__{name.upper()}"
        url = getattr(settings, name).get_secret_value()
        try:
            connection = await asyncpg.connect(url, timeout=_CONNECT_S)
        except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as failure:
            return error(
                f"{setting} is refused: {failure}",
                "set up the database with `muster database init`, and use the addresses in its database/SERVICE.env",
            )
        except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as failure:
            return error(
                f"{setting} ({url}) cannot be reached: {failure or type(failure).__name__}",
                "start the server, or correct the address and the firewall between both machines",
            )
        try:
            facts = await connection.fetchrow(_FACTS)
        finally:
            await connection.close()
    assert facts is not None
    return await _judge(facts, settings, service)


async def _judge(facts: asyncpg.Record, settings: PostgresSettings, service: str) -> Finding:
    if facts["is_read_only"]:
        return error(
            "the server is read-only: it is a standby, or its operator set it so",
            "use the address of the primary server",
        )
    try:
        await check_schema(settings, service)
    except (Transient, Rejected) as failure:
        return error(
            failure.message, getattr(failure, "hint", None) or "run `muster database migrate` of this release"
        )
    text = f"both logins work; Postgres {facts['version']}, schema {service} is current"
    if facts["major"] < LEAST_VERSION:
        return warning(text, f"use Postgres {LEAST_VERSION} or newer; Muster is tested with 18")
    if 2 * settings.pool_size > facts["connections"] - _RESERVED:
        return warning(
            f"{text}; it allows {facts['connections']} connections, and {service} alone uses up to {2 * settings.pool_size}",
            "raise max_connections of the server, or lower MUSTER_POSTGRES__POOL_SIZE",
        )
    return ok(text)

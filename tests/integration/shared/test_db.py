"""Sessions of one pool: each sees and changes only its tenant's rows, whatever the connection was used for before."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest
from prometheus_client import REGISTRY
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.database import engine as db
from shared.database.engine import Database
from shared.errors import Rejected, Transient
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase

ONE, OTHER, NONE = UUID(int=1), UUID(int=2), UUID(int=3)
HERE, THERE = "aa", "bb"
_INSERT = text(
    "INSERT INTO gateway.quota (tenant, workspace, changed_at, by) VALUES (:tenant, :workspace, now(), 'x')"
)
_SLEEP = text("SELECT pg_sleep(30)")


@pytest.fixture
async def database(postgres: TestDatabase) -> AsyncIterator[Database]:
    """One connection per role; two quotas of one tenant, one of another."""
    async with _database(postgres, pool_size=1) as database:
        async with database.system() as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
            for tenant, workspace in ((ONE, HERE), (ONE, THERE), (OTHER, HERE)):
                await connection.execute(_INSERT, {"tenant": tenant, "workspace": workspace})
        yield database


async def test_each_session_sees_its_own_tenant_on_a_shared_connection(database: Database) -> None:
    for tenant, expected in ((ONE, 2), (OTHER, 1), (ONE, 2), (NONE, 0)):
        async with database.read(tenant) as connection:
            assert await _count(connection) == expected
        async with database.tenant(tenant) as connection:
            assert await _count(connection) == expected


async def test_settings_of_a_session_do_not_reach_the_next(database: Database) -> None:
    for within, expected in (({"experiments": HERE}, HERE), ({}, ""), ({"models": THERE}, "")):
        async with database.read(ONE, within) as connection:
            assert await _setting(connection, "experiments") == expected
    async with database.system() as connection:
        assert await _setting(connection, "tenant") == ""


async def test_a_setting_that_is_no_plain_value_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="is not allowed as a transaction setting"):
        async with database.read(OTHER, {"experiments": "'; DROP"}):
            raise AssertionError("it was opened")
    async with database.read(OTHER) as connection:
        assert await _count(connection) == 1


async def test_data_that_cannot_be_stored_is_refused_where_it_is_given(database: Database) -> None:
    async with database.tenant(ONE) as connection:
        with pytest.raises(Rejected, match="cannot store this"):
            await connection.execute(text("SELECT CAST(:number AS integer)"), {"number": 2**40})
        assert await _count(connection) == 2, "the transaction goes on"


async def test_a_read_session_changes_nothing(database: Database) -> None:
    with pytest.raises(Transient, match="read-only"):
        async with database.read(ONE) as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
    async with database.read(ONE) as connection:
        assert await _count(connection) == 2


async def test_a_read_session_sees_one_snapshot(database: Database) -> None:
    async with database.read(ONE) as connection:
        assert await _count(connection) == 2
        async with database.system() as system:
            await system.execute(text("DELETE FROM gateway.quota"))
        assert await _count(connection) == 2
    async with database.read(ONE) as connection:
        assert await _count(connection) == 0


async def test_a_transaction_changes_rows_of_its_tenant_only(database: Database) -> None:
    async with database.tenant(ONE) as connection:
        assert (await connection.execute(text("UPDATE gateway.quota SET by = 'y'"))).rowcount == 2
    with pytest.raises(DBAPIError, match="row-level security"):
        async with database.tenant(ONE) as connection:
            await connection.execute(_INSERT, {"tenant": OTHER, "workspace": THERE})


@pytest.mark.parametrize("failure", ["error", "cancelled statement", "cancelled between statements"])
async def test_a_transaction_that_fails_leaves_no_work_behind(database: Database, failure: str) -> None:
    async def fail() -> None:
        async with asyncio.timeout(0.2), database.tenant(ONE) as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
            if failure == "error":
                raise KeyError
            if failure == "cancelled statement":
                await connection.execute(_SLEEP)
            await asyncio.Event().wait()

    with pytest.raises((KeyError, TimeoutError)):
        await fail()
    async with asyncio.timeout(5), database.tenant(ONE) as connection:
        assert await _count(connection) == 2


async def test_a_connection_that_the_server_ended_is_replaced_unnoticed(
    database: Database, postgres: TestDatabase
) -> None:
    async with database.read(ONE) as connection:
        backend = await _backend(connection)
    await _end(postgres, backend)
    async with database.read(ONE) as connection:
        assert await _count(connection) == 2
        assert await _backend(connection) != backend


async def test_a_connection_that_is_lost_in_use_is_replaced(
    database: Database, postgres: TestDatabase
) -> None:
    async def lose() -> None:
        async with database.tenant(ONE) as connection:
            await connection.execute(text("DELETE FROM gateway.quota"))
            await _end(postgres, await _backend(connection))

    with pytest.raises(Transient):
        await lose()
    async with database.read(ONE) as connection:
        assert await _count(connection) == 2


async def test_the_connections_of_a_peak_serve_the_next(postgres: TestDatabase) -> None:
    async with _database(postgres, pool_size=3) as database:

        async def backend(together: asyncio.Barrier) -> int:
            async with database.read(ONE) as connection:
                await together.wait()
                return await _backend(connection)

        async def peak() -> set[int]:
            together = asyncio.Barrier(3)
            return set(await asyncio.gather(*(backend(together) for _ in range(3))))

        first = await peak()
        assert len(first) == 3
        assert await peak() == first


async def test_a_session_waits_for_a_connection_and_then_is_refused(
    postgres: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db, "_POOL_TIMEOUT_S", 0.1)
    async with _database(postgres, pool_size=1) as database:
        async with database.read(ONE):
            with pytest.raises(Transient, match=r"all 1 of the tenant role are in use.*POOL_SIZE"):
                await _read(database)
            waiting = asyncio.create_task(_read(database))
        await waiting


async def test_a_connection_that_cannot_be_made_keeps_no_other_caller_waiting() -> None:
    """Each caller tries by itself, as soon as the one before it has failed."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.05)
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    url = f"postgresql://nobody@127.0.0.1:{server.sockets[0].getsockname()[1]}/none"
    settings = PostgresSettings.model_validate({"tenant_url": url, "system_url": url, "pool_size": 1})

    async def attempt(database: Database) -> None:
        with pytest.raises(Transient, match=r"does not respond|rejected the login|asks to retry"):
            async with database.system():
                raise AssertionError("it was opened")

    async with server, Database(settings, "gateway") as database, asyncio.timeout(db._POOL_TIMEOUT_S / 2):
        await asyncio.gather(*(attempt(database) for _ in range(3)))


async def test_the_pools_are_measured(postgres: TestDatabase) -> None:
    async with _database(postgres, pool_size=2) as database:
        waits = _figure("wait_time_seconds_count", "tenant")
        await _read(database)
        async with database.read(ONE):
            assert _figure("count", "tenant", db_client_connection_state="used") == 1
            assert _figure("count", "tenant", db_client_connection_state="idle") == 0
        assert _figure("count", "tenant", db_client_connection_state="used") == 0
        assert _figure("count", "tenant", db_client_connection_state="idle") == 1
        assert _figure("max", "tenant") == 2
        assert _figure("wait_time_seconds_count", "tenant") == waits + 2


def _figure(name: str, role: str, **labels: str) -> float:
    labels["db_client_connection_pool_name"] = f"measured-{role}"
    return REGISTRY.get_sample_value(f"db_client_connection_{name}", labels) or 0.0


def _database(postgres: TestDatabase, pool_size: int) -> Database:
    urls = postgres.urls["gateway"]
    addresses = {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
    return Database(PostgresSettings(pool_size=pool_size, **addresses), "measured")


async def _end(postgres: TestDatabase, backend: int) -> None:
    administrator = await asyncpg.connect(postgres.administrator_url)
    try:
        assert await administrator.fetchval("SELECT pg_terminate_backend($1, 5000)", backend)
    finally:
        await administrator.close()


async def _read(database: Database) -> None:
    async with database.read(ONE) as connection:
        await _count(connection)


async def _backend(connection: AsyncConnection) -> int:
    return int(await connection.scalar(text("SELECT pg_backend_pid()")) or 0)


async def _count(connection: AsyncConnection) -> int:
    found: int = (await connection.execute(text("SELECT count(*) FROM gateway.quota"))).scalar_one()
    return found


async def _setting(connection: AsyncConnection, name: str) -> str:
    found = await connection.execute(text(f"SELECT coalesce(current_setting('muster.{name}', true), '')"))
    return str(found.scalar_one())

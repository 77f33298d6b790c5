"""Partitions on a real database: made ahead, dropped when old, and open to their writer for inserting alone."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta

import asyncpg
import pytest

from shared.clock import SystemClock
from shared.database.engine import Database
from shared.database.partitions import Partitioned, Partitions, partition_name
from shared.database.upgrading import migrate
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase

TABLE = "point_chunk"
CREATE, DROP = "SELECT registry.create_partition($1, $2)", "SELECT registry.drop_partition($1, $2)"


@pytest.fixture
async def database(postgres: TestDatabase) -> AsyncIterator[Database]:
    """The registry's tables, as the registry reaches them."""
    urls = postgres.urls["registry"]
    await migrate(urls.owner, "registry")
    settings = PostgresSettings.model_validate({"tenant_url": urls.tenant, "system_url": urls.system})
    async with Database(settings, "registry") as opened:
        yield opened


async def test_days_come_and_go(postgres: TestDatabase, database: Database) -> None:
    urls = postgres.urls["registry"]
    partitions = Partitions(database, (Partitioned("registry", TABLE, timedelta(days=7)),), SystemClock())
    await partitions.apply()
    await partitions.apply()
    assert await names(urls.owner) == [partition_name(TABLE, day(offset)) for offset in range(-1, 4)]
    writer = await asyncpg.connect(urls.tenant)
    await writer.copy_records_to_table(
        partition_name(TABLE, day(0)), schema_name="registry", records=[(day(0), *row()) for _ in range(3)]
    )
    await writer.close()
    await make(urls.owner, day(-8), day(-7))
    await partitions.apply()
    assert await names(urls.owner) == [partition_name(TABLE, day(offset)) for offset in (-7, *range(-1, 4))]


@pytest.mark.parametrize(
    ("statement", "parent", "chosen"),
    [
        (CREATE, TABLE, lambda: day(8)),
        (CREATE, TABLE, lambda: day(-3)),
        (CREATE, TABLE, lambda: None),
        (CREATE, "checkpoint", lambda: day(0)),
        (CREATE, None, lambda: day(0)),
        (CREATE, "point_chunk; DROP TABLE registry.checkpoint", lambda: day(0)),
        (DROP, TABLE, lambda: day(0)),
        (DROP, TABLE, lambda: day(-1)),
        (DROP, TABLE, lambda: None),
        (DROP, TABLE, lambda: date.min),
        (DROP, "checkpoint", lambda: day(-3)),
        (DROP, None, lambda: day(-3)),
    ],
)
async def test_other_tables_and_days_are_refused(
    postgres: TestDatabase, database: Database, statement: str, parent: str | None, chosen: object
) -> None:
    assert callable(chosen)
    connection = await asyncpg.connect(postgres.urls["registry"].system)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement, parent, chosen())
    finally:
        await connection.close()


async def test_a_date_before_christ_names_no_partition_of_today(
    postgres: TestDatabase, database: Database
) -> None:
    connection = await asyncpg.connect(postgres.urls["registry"].system)
    try:
        for alias in (f"'{day(0):%Y-%m-%d} BC'", "'-infinity'", "'infinity'"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(f"SELECT registry.drop_partition('{TABLE}', {alias}::date)")
    finally:
        await connection.close()


def day(offset: int) -> date:
    return datetime.now(UTC).date() + timedelta(days=offset)


def row() -> tuple[object, ...]:
    return "0b0e7d2e-6f0c-5f5e-9d3e-000000000001", 1, 1, False, 1, 1, b"points", None


async def make(url: str, *days: date) -> None:
    connection = await asyncpg.connect(url)
    try:
        for one in days:
            await connection.execute(
                f"CREATE TABLE registry.{partition_name(TABLE, one)} PARTITION OF registry.{TABLE}"
                f" FOR VALUES FROM ('{one}') TO ('{one + timedelta(days=1)}')"
            )
    finally:
        await connection.close()


async def names(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            f" WHERE i.inhparent = 'registry.{TABLE}'::regclass ORDER BY 1"
        )
        return [row["relname"] for row in rows]
    finally:
        await connection.close()

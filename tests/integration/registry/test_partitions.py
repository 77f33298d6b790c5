"""Partitions on a real database: made ahead, dropped when old, and open to their writer for inserting alone."""

from datetime import UTC, datetime, timedelta

import asyncpg
from pydantic import SecretStr

from shared.database.partitions import Partitioned, Partitions, partition_name
from shared.database.upgrading import migrate
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase


class Day:
    """A clock that stands at noon of a day."""

    def __init__(self, day: datetime) -> None:
        self.day = day

    def now(self) -> datetime:
        return self.day

    def monotonic(self) -> float:
        return 0.0


async def test_days_come_and_go(postgres: TestDatabase) -> None:
    urls = postgres.urls["registry"]
    settings = PostgresSettings(
        owner_url=SecretStr(urls.owner), tenant_url=SecretStr(urls.tenant), system_url=SecretStr(urls.system)
    )
    await migrate(settings, "registry")
    clock = Day(datetime(2026, 3, 1, 12, tzinfo=UTC))
    table = Partitioned("registry", "point_chunk", timedelta(days=7), ("registry_tenant",))
    async with Partitions(settings, (table,), clock) as partitions:
        await partitions.apply()
        assert await names(urls.owner) == [
            partition_name("point_chunk", day(offset)) for offset in range(-1, 4)
        ]
        writer = await asyncpg.connect(urls.tenant)
        await writer.copy_records_to_table(
            partition_name("point_chunk", day(0)),
            schema_name="registry",
            records=[(day(0), *row()) for _ in range(3)],
        )
        await writer.close()
        clock.day += timedelta(days=9)
        await partitions.apply()
        assert await names(urls.owner) == [
            partition_name("point_chunk", day(offset)) for offset in (2, 3, *range(8, 13))
        ]


def day(offset: int) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=offset)


def row() -> tuple[object, ...]:
    return "0b0e7d2e-6f0c-5f5e-9d3e-000000000001", 1, 1, False, 1, 1, b"points", None


async def names(url: str) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " WHERE i.inhparent = 'registry.point_chunk'::regclass ORDER BY 1"
        )
        return [row["relname"] for row in rows]
    finally:
        await connection.close()

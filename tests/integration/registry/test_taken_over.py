"""What an earlier version kept is there after the upgrade: points that were rows, and a tenant's bytes, which were not counted."""

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy.ext.asyncio import create_async_engine

from services.registry.series.core.chunks import from_bytes
from shared.clock import SystemClock
from shared.database.partitions import partition_name
from shared.database.upgrading import migrate
from shared.ids import DEFAULT_TENANT, new_id
from shared.settings import PostgresSettings
from tests.integration.servers import Servers

CLOCK = SystemClock()


async def test_rows_become_chunks(servers: Servers) -> None:
    database = servers.new_database()
    try:
        urls = database.urls["registry"]
        owner = create_async_engine(urls.owner.replace("postgresql://", "postgresql+asyncpg://", 1))
        async with owner.begin() as connection:
            await connection.run_sync(_upgrade_to_rows)
        await owner.dispose()
        server = servers.postgres
        administrator = await asyncpg.connect(server.url("postgres", server.password, database.name))
        day, series = CLOCK.now().date(), await _store_rows(administrator)
        settings = {"owner_url": urls.owner, "tenant_url": urls.tenant, "system_url": urls.system}
        await migrate(PostgresSettings.model_validate(settings), "registry")
        rows = await administrator.fetch("SELECT * FROM registry.point_chunks ORDER BY first_step")
        assert [(row["day"], row["series"], row["count"]) for row in rows] == [
            (day, series, 4000),
            (day, series, 1000),
        ]
        points = from_bytes(rows[1]["body"])
        assert points.steps.tolist() == list(range(4000, 5000))
        assert points.values.tolist() == [step / 2 for step in range(4000, 5000)]
        assert points.seqs[0] == 4001 and points.times_ms[0] == 14000
        first = await administrator.fetchval("SELECT first_step FROM registry.series WHERE id = $1", series)
        assert first == 0
        # A trial's state is taken from what is said again of it, which has the version that is known.
        assert await administrator.fetchval("SELECT changed_version FROM registry.trials") == 0
        used = await administrator.fetch("SELECT tenant, used_bytes FROM registry.storage")
        assert [tuple(row) for row in used] == [(DEFAULT_TENANT, 12)]
        await administrator.close()
    finally:
        servers.drop(database)


async def _store_rows(connection: asyncpg.Connection) -> int:
    day = CLOCK.now().date()
    await connection.execute(
        f"CREATE TABLE registry.{partition_name('points', day)} PARTITION OF registry.points"
        f" FOR VALUES FROM ('{day}') TO (date '{day}' + 1)"
    )
    series: int = await connection.fetchval(
        'INSERT INTO registry.series (tenant, trial, run, "group", name, count)'
        " VALUES ($1, $2, $3, 'training', 'loss', 5000) RETURNING id",
        DEFAULT_TENANT,
        new_id(CLOCK),
        new_id(CLOCK),
    )
    await connection.execute(
        "INSERT INTO registry.points SELECT $1, $2, $3, n + 1, n, 10000 + n, n / 2.0 FROM generate_series(0, 4999) AS n",
        day,
        DEFAULT_TENANT,
        series,
    )
    await connection.execute(
        "INSERT INTO registry.trials (id, tenant, experiment, changed_version) VALUES ($1, $2, $3, 7)",
        new_id(CLOCK),
        DEFAULT_TENANT,
        new_id(CLOCK),
    )
    await connection.execute(
        "INSERT INTO registry.objects (key, tenant, sha256, size_bytes) VALUES ('a', $1, 'a', 5), ('b', $1, 'b', 7)",
        DEFAULT_TENANT,
    )
    return series


def _upgrade_to_rows(connection: object) -> None:
    config = Config()
    config.set_main_option("script_location", "shared/database/migrations")
    config.set_main_option("version_locations", "services/registry/migrations/versions")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["schema"] = "registry"
    command.upgrade(config, "0005")

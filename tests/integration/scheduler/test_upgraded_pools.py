"""Pools that an earlier release kept: those that people configured keep their rules under the new defaults, the others take them."""

import json

import asyncpg
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import create_async_engine

from services.scheduler.core.state.records.pool import PoolPolicy
from services.scheduler.store.policies import load_pools
from services.scheduler.store.rules import rules_of
from shared.database.engine import Database
from shared.database.upgrading import migrate
from shared.messages.pools import PoolRules
from shared.settings import PostgresSettings
from tests.integration.servers import Servers
from tests.support.policies import plain_rules

BEFORE = "0025"
WRITTEN = plain_rules().model_dump_json(exclude={"preemption", "default_priority"})


async def test_configured_pools_keep_their_rules_and_others_take_the_new_defaults(servers: Servers) -> None:
    database = servers.new_database()
    try:
        urls = database.urls["scheduler"]
        owner = create_async_engine(urls.owner.replace("postgresql://", "postgresql+asyncpg://", 1))
        async with owner.begin() as connection:
            await connection.run_sync(_upgrade_to_before)
        await owner.dispose()
        postgres = servers.postgres
        administrator = await asyncpg.connect(postgres.url("postgres", postgres.password, database.name))
        pools = [
            ("edited", json.dumps({"order": "fifo"}), True),
            ("untouched", WRITTEN, False),
            ("old", "{}", True),
        ]
        for name, rules, is_edited in pools:
            await administrator.execute(
                "INSERT INTO scheduler.pool (name, kind, preemption, exclusive, auxiliary_per_worker, default_priority,"
                " rules, is_edited) VALUES ($1, NULL, false, true, 100, 42, $2, $3)",
                *(name, rules, is_edited),
            )
        await administrator.close()
        settings = PostgresSettings(owner_url=urls.owner, tenant_url=urls.tenant, system_url=urls.system)
        await migrate(settings, "scheduler")
        async with Database(settings, "scheduler") as opened, opened.system() as connection:
            found: dict[str, PoolPolicy] = {pool.name: pool for pool in await load_pools(connection)}
        assert rules_of(found["edited"]) == plain_rules(order="fifo")
        assert rules_of(found["old"]) == plain_rules()
        assert rules_of(found["untouched"]) == PoolRules()
    finally:
        servers.drop(database)


def _upgrade_to_before(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", "shared/database/migrations")
    config.set_main_option("version_locations", "services/scheduler/migrations/versions")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    config.attributes["schema"] = "scheduler"
    command.upgrade(config, BEFORE)

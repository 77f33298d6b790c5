"""The probes of health checks on real servers: a write that is refused, a lease that nobody holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from deploy.postgres.urls import login_name
from shared.clock import SystemClock
from shared.database.engine import Database
from shared.database.leases import Lease
from shared.errors import Transient
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase
from tests.support.waiting import eventually

SERVICE = "scheduler"


def opened(postgres: TestDatabase) -> Database:
    urls = postgres.urls[SERVICE]
    settings = {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
    return Database(PostgresSettings.model_validate(settings), SERVICE)


@asynccontextmanager
async def altered(postgres: TestDatabase, setting: str, value: str) -> AsyncIterator[None]:
    """A setting of the login that probes."""
    administrator = await asyncpg.connect(postgres.administrator_url)
    role = f'ALTER ROLE "{login_name(postgres.name, f"{SERVICE}_system")}"'
    try:
        await administrator.execute(f"{role} SET {setting} = {value}")
        yield
    finally:
        await administrator.execute(f"{role} RESET {setting}")
        await administrator.close()


async def test_a_database_that_takes_writes_is_healthy(postgres: TestDatabase) -> None:
    async with opened(postgres) as database:
        assert await database.probe(SERVICE) is None


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("default_transaction_read_only", "on", "read-only"),
        ("temp_file_limit", "0", "temporary file"),
    ],
)
async def test_a_database_that_only_answers_is_not(
    postgres: TestDatabase, setting: str, value: str, why: str
) -> None:
    """Without room for a file, or for reads alone, it answers `SELECT 1` all the same."""
    async with altered(postgres, setting, value), opened(postgres) as database:
        with pytest.raises(Transient, match=why):
            await database.probe(SERVICE)


async def test_a_lease_is_vacant_until_somebody_holds_it(postgres: TestDatabase) -> None:
    async with opened(postgres) as database:
        leader, standby = (
            Lease(database, SERVICE, "probed", holder, SystemClock()) for holder in ("first", "second")
        )
        assert "no process has acquired the lease probed" in str(await standby.vacancy())
        stopping = asyncio.Event()

        async def term(_: int, ended: asyncio.Event) -> None:
            await ended.wait()

        leading = asyncio.create_task(leader.lead(term, stopping))
        await eventually(lambda: leader.held)
        assert await leader.vacancy() is None and await standby.vacancy() is None
        stopping.set()
        await leading
        assert "the lease probed of first expired" in str(await standby.vacancy())

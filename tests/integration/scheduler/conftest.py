"""Fixtures of the scheduler's integration tests."""

from collections.abc import AsyncIterator, Callable

import pytest

from shared.database.engine import Database
from shared.database.upgrading import migrate
from shared.settings import PostgresSettings
from tests.integration.scheduler.platform import Platform, platform
from tests.integration.servers import Servers, TestDatabase


@pytest.fixture(scope="module")
async def around(
    servers: Servers, postgres: TestDatabase, settings: Callable[[str], dict[str, str]]
) -> AsyncIterator[Platform]:
    """What stands round the scheduler, without a scheduler."""
    async with platform(servers, postgres, settings) as found:
        yield found


@pytest.fixture
async def database(postgres: TestDatabase) -> AsyncIterator[Database]:
    """The scheduler's tables, without a scheduler."""
    urls = postgres.urls["scheduler"]
    settings = PostgresSettings(tenant_url=urls.tenant, system_url=urls.system)
    await migrate(urls.owner, "scheduler")
    async with Database(settings, "scheduler") as opened:
        yield opened

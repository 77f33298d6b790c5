"""Fixtures of the scheduler's integration tests."""

from collections.abc import AsyncIterator, Callable

import pytest

from tests.integration.scheduler.platform import Platform, platform
from tests.integration.servers import Servers, TestDatabase


@pytest.fixture(scope="module")
async def around(
    servers: Servers, postgres: TestDatabase, settings: Callable[[str], dict[str, str]]
) -> AsyncIterator[Platform]:
    """What stands round the scheduler, without a scheduler."""
    async with platform(servers, postgres, settings) as found:
        yield found

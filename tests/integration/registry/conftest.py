"""Fixtures of the registry's integration tests."""

from collections.abc import AsyncIterator, Callable

import pytest

from shared.objects import LEAST_PART_BYTES
from tests.integration.registry.platform import Platform, Registry, platform
from tests.integration.servers import Servers, TestDatabase

Environment = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
async def around(servers: Servers, postgres: TestDatabase, settings: Environment) -> AsyncIterator[Platform]:
    """What stands round the registry, without a registry."""
    async with platform(servers, postgres, settings) as found:
        yield found


@pytest.fixture(scope="module")
async def registry(around: Platform) -> AsyncIterator[Registry]:
    """One replica that runs through the module, quick in its upkeep."""
    async with around.registry(
        MUSTER_REGISTRY__COLLECT_AFTER_S="0",
        MUSTER_REGISTRY__PART_BYTES=str(LEAST_PART_BYTES),
        MUSTER_REGISTRY__PACK_EVERY_S="0.2",
        MUSTER_REGISTRY__COLLECT_EVERY_S="0.2",
        MUSTER_REGISTRY__SETTLE_EVERY_S="0.2",
        MUSTER_REGISTRY__UNUSED_FOR_S="0.5",
        MUSTER_REGISTRY__UNUSED_EVERY_S="0.2",
    ) as running:
        yield running

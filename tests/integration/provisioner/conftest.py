"""Fixtures of the provisioner's integration tests: servers and database once, a provisioner's world anew for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.provisioner.neighbours import Around, around
from tests.integration.servers import Servers


@pytest.fixture
async def world(servers: Servers, tmp_path: Path) -> AsyncIterator[Around]:
    """What stands round the provisioner, with a fresh database and an empty bus."""
    _ = servers.nats
    servers.clear_bus()
    database = servers.migrated_database()
    environment = servers.environment("provisioner", database)
    async with around(servers, database, environment, tmp_path / "workers") as found:
        yield found
    servers.drop(database)

"""Fixtures of the provisioner's integration tests: servers and database once, a provisioner's world anew for each test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from tests.integration.provisioner.neighbours import Around, around
from tests.integration.servers import Servers


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The address of a server of AWS; what one test makes there the others see, unless it bears another deployment's name."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


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

"""Session fixtures: real servers, a fresh database and an empty bus for each test module."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.embedded.servers import NatsServer, RedisServer, S3Server
from tests.integration.servers import Servers, TestDatabase


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """All four servers; each starts when it is first asked for."""
    running = Servers()
    yield running
    running.close()


@pytest.fixture(scope="module")
def postgres(servers: Servers) -> Iterator[TestDatabase]:
    """A database of the module's own, with tables and roles of every service."""
    database = servers.migrated_database()
    yield database
    servers.drop(database)


@pytest.fixture(scope="module")
def nats_server(servers: Servers) -> NatsServer:
    """The bus, without streams at the module's start."""
    server = servers.nats
    servers.clear_bus()
    return server


@pytest.fixture(scope="module")
def redis_server(servers: Servers) -> RedisServer:
    return servers.redis


@pytest.fixture(scope="module")
def s3_server(servers: Servers) -> S3Server:
    """The object store; its bucket `muster` exists."""
    return servers.s3


@pytest.fixture(scope="module")
def nats_credentials(servers: Servers) -> Callable[[str], Path]:
    """The `.creds` file of a service, or of `admin`."""
    return servers.keys.credentials


@pytest.fixture(scope="module")
def settings(
    servers: Servers, postgres: TestDatabase, nats_server: NatsServer
) -> Callable[[str], dict[str, str]]:
    """The environment of any service: `settings("searcher")`."""
    servers.clear_redis()
    return lambda service: servers.environment(service, postgres)

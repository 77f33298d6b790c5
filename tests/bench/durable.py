"""The real servers as a user has them, for benchmarks of one service: every commit and every message on disk."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from deploy.embedded.servers import PostgresServer
from tests.integration.registry.platform import Platform, Registry, platform
from tests.integration.servers import Servers


class DurableServers(Servers):
    """Where the tests leave out what only a power cut would need, this does not."""

    @cached_property
    def postgres(self) -> PostgresServer:
        server = PostgresServer(self.home, durable=True)
        self._start(server)
        return server


@asynccontextmanager
async def registry_on(servers: Servers, **settings: str) -> AsyncIterator[tuple[Platform, Registry]]:
    """The registry alone, on a database of its own, and what stands round it."""
    database = servers.migrated_database()
    async with (
        platform(servers, database, lambda service: servers.environment(service, database)) as around,
        around.registry(**settings) as registry,
    ):
        yield around, registry

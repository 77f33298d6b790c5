"""The real servers as a user has them, for benchmarks of one service: every commit and every message on disk."""

from functools import cached_property

from deploy.embedded.servers import PostgresServer
from tests.integration.servers import Servers


class DurableServers(Servers):
    """Where the tests leave out what only a power cut would need, this does not."""

    @cached_property
    def postgres(self) -> PostgresServer:
        server = PostgresServer(self.home, durable=True)
        self._start(server)
        return server

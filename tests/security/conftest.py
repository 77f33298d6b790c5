"""The real servers, as the integration tests start them."""

from tests.integration.conftest import redis_server, servers

__all__ = ["redis_server", "servers"]

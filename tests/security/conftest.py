"""Fixtures of the attacks: the real servers and the gateway of the integration tests."""

from tests.integration.conftest import (
    nats_credentials,
    nats_server,
    postgres,
    redis_server,
    s3_server,
    servers,
    settings,
)
from tests.integration.gateway.conftest import api, gateway, others
from tests.integration.worker.conftest import daemons, platform

__all__ = [
    "api",
    "daemons",
    "gateway",
    "nats_credentials",
    "nats_server",
    "others",
    "platform",
    "postgres",
    "redis_server",
    "s3_server",
    "servers",
    "settings",
]

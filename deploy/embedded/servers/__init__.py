"""The servers of one machine, installed from wheels: NATS, Postgres, Redis, S3. Users: the supervisor and the integration tests."""

from deploy.embedded.servers.base import Daemon, Home
from deploy.embedded.servers.nats import NatsServer
from deploy.embedded.servers.postgres import PostgresServer
from deploy.embedded.servers.redis import RedisServer
from deploy.embedded.servers.s3 import S3Server

__all__ = ["Daemon", "Home", "NatsServer", "PostgresServer", "RedisServer", "S3Server"]

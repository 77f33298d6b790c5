"""The real servers for integration tests: each started at its first use, once per session, on free ports, in a folder of their own."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import asyncpg
import nats
from nats.js.errors import NotFoundError
from redis.asyncio import Redis

from deploy.embedded.environment import Addresses, S3Address, service_environment
from deploy.embedded.first_start.buckets import make_bucket
from deploy.embedded.first_start.certificates import make_certificates
from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers import Daemon, Home, NatsServer, PostgresServer, RedisServer, S3Server
from deploy.embedded.servers.s3 import AUDIT_BUCKET, PORTS_NEEDED
from deploy.embedded.services import Service
from deploy.keys.directory import Keys
from deploy.keys.files import init_keys
from deploy.keys.permissions import ADMIN, BUS_KEEPER, inbox
from deploy.postgres.setup import drop_database, set_up_database
from deploy.postgres.urls import PlatformDatabase, ServiceUrls, role_names
from shared.bus.keeping import ensure_bus
from shared.clock import SystemClock
from shared.database.upgrading import migrate

T = TypeVar("T")
BUCKET = "muster"
MODEL = "muster_model"
LOADED_S = 30.0
"""How long a server may take for one answer while other tests compute on the same cores."""


@dataclass(frozen=True, slots=True)
class TestDatabase:
    """A fresh database with the roles of every service; `urls["searcher"].tenant` and so on."""

    __test__ = False

    name: str
    administrator_url: str
    urls: dict[str, ServiceUrls]


class Servers:
    """NATS, Postgres, Redis, S3; whoever asks for one waits for that one only."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="muster-tests-"))
        self.home = Home(self.root)
        self.home.make()
        self._databases = 0
        self._started: list[Daemon] = []

    @cached_property
    def keys(self) -> Keys:
        """The identities of this session's bus."""
        return init_keys(self.root / "keys", SystemClock().now())

    @cached_property
    def nats(self) -> NatsServer:
        server = NatsServer(self.home, free_ports(1)[0], self.keys)
        self._start(server)
        self._start(bus_keeper(server))
        return server

    @cached_property
    def postgres(self) -> PostgresServer:
        server = PostgresServer(self.home, durable=False)
        self._start(server)
        return server

    @cached_property
    def redis(self) -> RedisServer:
        server = RedisServer(self.home)
        self._start(server)
        return server

    @cached_property
    def s3(self) -> S3Server:
        server = S3Server(self.home, free_ports(PORTS_NEEDED))
        make_certificates(server.certificates, SystemClock().now())
        self._start(server)
        make_bucket(server.url, *server.administrator, BUCKET)
        make_bucket(server.url, *server.administrator, AUDIT_BUCKET, locked=True)
        return server

    @cached_property
    def model(self) -> str:
        """A database with the newest tables of all services, and nothing in them."""
        apart(_migrate_all(self.new_database(MODEL).urls))
        return MODEL

    def new_database(self, name: str = "") -> TestDatabase:
        """A database of its own, with the roles of all services and no tables."""
        name = name or self._next_name()
        passwords = {role: self.home.secret(f"postgres-{role}") for role in role_names()}
        wanted = PlatformDatabase(self.postgres.administrator_url, "tests", passwords, name)
        apart(set_up_database(wanted))
        return TestDatabase(name, wanted.administrator_url, wanted.urls)

    def migrated_database(self) -> TestDatabase:
        """A database of its own, a copy of the model: services that start on it have no tables to make."""
        name = self._next_name()
        apart(_copy_database(self.postgres.administrator_url, self.model, name))
        return self.new_database(name)

    def drop(self, database: TestDatabase) -> None:
        """Remove a database, whoever still uses it."""
        apart(drop_database(database.administrator_url, database.name))

    def clear_bus(self) -> None:
        """Delete all streams, and create them again, as if the server were new."""
        apart(_renew_streams(self.nats.url, str(self.keys.credentials(ADMIN))))

    def clear_redis(self) -> None:
        """Forget what earlier modules counted: their sign-ins use up the limit of this machine's address."""
        if "redis" in self.__dict__:
            apart(_forget_all(self.redis.url))

    def environment(self, service: str, database: TestDatabase) -> dict[str, str]:
        """The settings of a service, as its process finds them in the environment."""
        s3 = self.s3 if service == "registry" else None
        addresses = Addresses(
            nats_url=self.nats.url,
            credentials={service: self.keys.credentials(service)},
            worker_issuer=self.keys.worker_issuer,
            postgres=database.urls,
            redis_url=self.redis.url if service == "gateway" else "",
            s3=S3Address(s3.url, *s3.platform, BUCKET) if s3 else S3Address("", "", "", ""),
        )
        return service_environment(service, addresses)

    def restart(self, server: Daemon) -> None:
        """Start a stopped or killed server again, at its old address, with its data."""
        server.prepare()
        server.start()
        server.wait_ready()

    def close(self) -> None:
        """End what was started and remove everything."""
        for server in reversed(self._started):
            server.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def _next_name(self) -> str:
        self._databases += 1
        return f"muster_{self._databases}"

    def _start(self, server: Daemon) -> None:
        server.prepare()
        self._started.append(server)
        server.start()
        server.wait_ready()


def apart(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end in a thread of its own, whatever loop this one has."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, work).result()


async def _migrate_all(urls: dict[str, ServiceUrls]) -> None:
    for service, own in urls.items():
        await migrate(own.owner, service)


async def _copy_database(administrator_url: str, model: str, name: str) -> None:
    server = await asyncpg.connect(administrator_url)
    try:
        await server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{model}" STRATEGY FILE_COPY')
    finally:
        await server.close()


async def _forget_all(url: str) -> None:
    async with Redis.from_url(url) as server:
        await server.flushall()


def bus_keeper(server: NatsServer, **settings: str) -> Service:
    """The process that creates the bus's streams and consumers."""
    environment = {
        "MUSTER_NATS__URL": server.url,
        "MUSTER_NATS__CREDENTIALS": str(server.keys.credentials(BUS_KEEPER)),
        **settings,
    }
    return Service(server.home, BUS_KEEPER, free_ports(1)[0], lambda: environment)


async def _renew_streams(url: str, credentials: str) -> None:
    client = await nats.connect(url, user_credentials=credentials, inbox_prefix=inbox(ADMIN).encode())
    try:
        stream_api = client.jetstream(timeout=LOADED_S)
        for stream in await stream_api.streams_info():
            if stream.config.name:
                await stream_api.delete_stream(stream.config.name)
        await ensure_bus(stream_api)
    except NotFoundError:
        await ensure_bus(stream_api)
    finally:
        await client.close()

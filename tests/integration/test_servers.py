"""The four servers themselves: they serve, refuse strangers, and come back with their data."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import asyncpg
import nats
import nats.errors
import pytest
from minio import Minio
from minio.error import S3Error
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from deploy.embedded.host.ports import accepts
from deploy.embedded.servers import NatsServer, RedisServer, S3Server
from deploy.embedded.servers.s3 import NICENESS
from tests.integration.servers import Servers, TestDatabase


async def test_each_service_owns_its_schema_alone(postgres: TestDatabase) -> None:
    owner = await asyncpg.connect(postgres.urls["searcher"].owner)
    await owner.execute("CREATE TABLE searcher.probe (n int)")
    await owner.close()
    for role in (postgres.urls["searcher"].tenant, postgres.urls["scheduler"].owner):
        stranger = await asyncpg.connect(role)
        for statement in (
            "SELECT * FROM searcher.probe",
            "CREATE TABLE searcher.other (n int)",
            "CREATE TABLE public.other (n int)",
            "CREATE SCHEMA other",
        ):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await stranger.execute(statement)
        await stranger.close()


async def test_no_role_enters_without_its_password(postgres: TestDatabase) -> None:
    for url in (postgres.administrator_url, postgres.urls["gateway"].system):
        name, _, rest = url.removeprefix("postgresql://").partition(":")
        wrong = f"postgresql://{name}:wrong@{rest.partition('@')[2]}"
        with pytest.raises(asyncpg.InvalidPasswordError):
            await asyncpg.connect(wrong)


async def test_the_bus_keeps_its_messages_through_a_crash(
    servers: Servers, nats_server: NatsServer, nats_credentials: Callable[[str], Path]
) -> None:
    credentials = str(nats_credentials("admin"))
    client = await nats.connect(nats_server.url, user_credentials=credentials)
    await client.jetstream().publish("evt.v1.t.trial.requested", b"kept")
    await client.close()
    nats_server.kill()
    servers.restart(nats_server)
    client = await nats.connect(nats_server.url, user_credentials=credentials)
    message = await client.jetstream().get_msg("EVT", seq=1)
    await client.close()
    assert message.data == b"kept"


async def test_the_bus_admits_nobody_unknown(nats_server: NatsServer) -> None:
    with pytest.raises(nats.errors.Error):
        await nats.connect(nats_server.url, allow_reconnect=False, connect_timeout=2)


async def test_redis_wants_its_password(redis_server: RedisServer) -> None:
    known = Redis.from_url(redis_server.url)
    await known.set("a", "b")
    assert await known.get("a") == b"b"
    await known.aclose()
    stranger = Redis(unix_socket_path=str(redis_server.socket), retry=Retry(NoBackoff(), 0))
    with pytest.raises(RedisError, match="already authenticated"):
        await stranger.get("a")
    await stranger.aclose()


def test_the_store_keeps_objects_through_a_crash_and_its_platform_identity_in_its_bucket(
    servers: Servers, s3_server: S3Server
) -> None:
    place = s3_server.url.removeprefix("http://")
    access, secret = s3_server.platform
    client = Minio(place, access_key=access, secret_key=secret, secure=False, region="us-east-1")
    client.put_object("muster", "kept", io.BytesIO(b"bytes" * 1000), 5000)
    s3_server.kill()
    s3_server.clean()
    servers.restart(s3_server)
    assert client.get_object("muster", "kept").read() == b"bytes" * 1000
    with pytest.raises(S3Error):
        client.make_bucket("another")


def test_a_stopped_server_leaves_no_port(servers: Servers) -> None:
    for server in (servers.nats, servers.s3):
        server.stop()
        assert not [port for port in server.ports if accepts(port)]
        servers.restart(server)


def test_the_store_gives_way_to_trainings_of_other_sessions_too(s3_server: S3Server) -> None:
    pid = s3_server.pid or 0
    assert os.getpriority(os.PRIO_PROCESS, pid) == os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
    shared_out = Path(f"/proc/{pid}/autogroup")
    assert not shared_out.exists() or shared_out.read_text().endswith(f"nice {NICENESS}\n")

"""An old Redis server, which lacks fixes and limits, is found, whatever it permits the gateway. The health report shows it as a warning."""

import pytest
from redis.asyncio import Redis

from deploy.embedded.servers import RedisServer
from services.gateway.platform.limits.redis_version import describe_old, find_old_version


@pytest.mark.parametrize("protocol", [2, 3])
async def test_the_version_of_a_real_server_is_found(redis_server: RedisServer, protocol: int) -> None:
    async with Redis.from_url(redis_server.url, protocol=protocol) as client:
        found = await find_old_version(client)
    assert found is not None
    assert found.startswith("redis 6.2.") and "Redis 7.4" in found


async def test_a_user_with_the_documented_permissions_learns_it(redis_server: RedisServer) -> None:
    commands = ("+evalsha", "+script|load", "+time", "+hmget", "+hset", "+pexpire")
    async with Redis.from_url(redis_server.url) as admin:
        await admin.acl_setuser(
            "gateway", enabled=True, passwords=["+secret"], keys=["muster:*"], commands=commands
        )
    path = str(redis_server.socket)
    async with Redis(unix_socket_path=path, username="gateway", password="secret") as client:
        assert await find_old_version(client)


@pytest.mark.parametrize(
    ("server", "version", "is_old"),
    [
        ("redis", "6.2.14", True),
        ("redis", "7.2.5", True),
        ("redis", "7.4.0", False),
        ("redis", "8.2.1", False),
        ("valkey", "7.2.5", True),
        ("valkey", "8.0.1", False),
        ("dragonfly", "1.0", False),
        ("redis", "unknown", False),
    ],
)
def test_old_versions(server: str, version: str, is_old: bool) -> None:
    assert (describe_old(server, version) is not None) is is_old

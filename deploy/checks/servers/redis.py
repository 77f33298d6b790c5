"""Redis or Valkey: rate limits and caches."""

import asyncio
from datetime import UTC, datetime

from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, RedisError

from deploy.checks.findings import Finding, error, ok, warning
from services.gateway.platform.limits.redis_version import find_old_version
from shared.settings import RedisSettings

WHY = "Without it, rate limits apply per replica and are stricter. Versions that are too old lack security fixes."
_SOCKET_S = 3.0


def check_redis(settings: RedisSettings) -> Finding:
    """Connect, and check the version."""

    async def check() -> Finding:
        async with _client(settings) as redis:
            try:
                old = await find_old_version(redis)
            except AuthenticationError as failure:
                return error(
                    f"the login is refused: {failure}", "correct user and password in MUSTER_REDIS__URL"
                )
            except (RedisError, OSError, ValueError) as failure:
                return error(
                    f"it cannot be reached: {failure}", "start the server, or correct MUSTER_REDIS__URL"
                )
        is_private = settings.url.get_secret_value().startswith("unix:")
        if old is None or is_private:  # a server on a private socket serves this machine only (decision 0290)
            return ok("it answers")
        return warning(old, "upgrade the server to Valkey 8 or Redis 7.4")

    return asyncio.run(check())


def read_clock(settings: RedisSettings) -> datetime:
    """Return the server's time."""

    async def read() -> datetime:
        async with _client(settings) as redis:
            seconds, microseconds = await redis.time()
        return datetime.fromtimestamp(int(seconds) + int(microseconds) / 1e6, UTC)

    return asyncio.run(read())


def _client(settings: RedisSettings) -> Redis:
    return Redis.from_url(
        settings.url.get_secret_value(),
        socket_timeout=_SOCKET_S,
        socket_connect_timeout=_SOCKET_S,
        retry=None,
    )

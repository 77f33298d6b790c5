"""Rates over a real Redis: replicas share them, an emptied Redis and one that is away change no answer but how much goes through."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from deploy.embedded.servers import RedisServer
from muster.errors import Transient
from services.gateway.core.buckets import LONGEST_S, Rate
from services.gateway.limits.rates import Limiter, standing
from services.gateway.operations.operation import RateClass
from shared.clock import SystemClock
from shared.ids import TenantId

RATES = {RateClass.READ: Rate(1.0, 50.0)}


class Counted:
    """Counts what Redis is asked."""

    def __init__(self, redis: Redis) -> None:
        self.redis, self.asked = redis, 0

    def register_script(self, text: str) -> Any:
        script = self.redis.register_script(text)

        def ask(**given: Any) -> Any:
            self.asked += 1
            return script(**given)

        return ask


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator[Redis]:
    redis = Redis.from_url(redis_server.url, socket_timeout=5, retry=None)
    yield redis
    await redis.aclose()


async def passes(limiter: Limiter, tenant: TenantId) -> bool:
    try:
        await limiter.take(tenant, RateClass.READ)
    except Transient as error:
        if error.code != "rate_limited" or not 0 < error.retry_after_s <= LONGEST_S:
            raise
        return False
    return True


async def test_a_tenants_rate_is_one_over_all_replicas(redis: Redis) -> None:
    counted = Counted(redis)
    replicas = [Limiter(counted, RATES, SystemClock()) for _ in range(3)]  # type: ignore[arg-type]
    one, other = TenantId(uuid4()), TenantId(uuid4())
    told = await asyncio.gather(*(passes(limiter, one) for _ in range(40) for limiter in replicas))
    assert 50 <= sum(told) <= 52, "its burst, and what flowed meanwhile"
    assert counted.asked <= 12, "requests that wait at once are drawn for at once"
    assert await passes(replicas[0], other), "another tenant's is its own"


async def test_what_is_told_to_be_left_is_what_is_left(redis: Redis) -> None:
    limiter, tenant = Limiter(redis, RATES, SystemClock()), TenantId(uuid4())
    for spent in range(1, 21):
        assert await passes(limiter, tenant)
        stands = standing()
        assert stands is not None and 50 - spent <= stands.tokens <= 51 - spent


async def test_an_emptied_redis_begins_full_buckets(redis: Redis) -> None:
    limiter, tenant = Limiter(redis, RATES, SystemClock()), TenantId(uuid4())
    assert sum([await passes(limiter, tenant) for _ in range(60)]) >= 50
    await redis.flushall()
    other = Limiter(redis, RATES, SystemClock())
    assert await passes(other, tenant)


async def test_without_redis_half_of_it_goes_through_each_replica() -> None:
    limiter, tenant = Limiter(None, RATES, SystemClock()), TenantId(uuid4())
    assert sum([await passes(limiter, tenant) for _ in range(60)]) == 25

"""Rate limits over a real Redis, which replicas share, and which may be emptied."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from redis.asyncio import BlockingConnectionPool, Redis

from deploy.embedded.servers import RedisServer
from services.gateway.platform.limits.buckets import Rate, RateClass
from services.gateway.platform.limits.exceeded import LimitExceeded
from services.gateway.platform.limits.rate_limits import RateLimiter, rate_limit_status
from shared.clock import SystemClock
from shared.ids import TenantId

RATES = {RateClass.READ: Rate(1.0, 50.0), RateClass.WRITE: Rate(10.0, 2.0)}


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator[Redis]:
    redis = Redis.from_pool(BlockingConnectionPool.from_url(redis_server.url, max_connections=8, retry=None))
    yield redis
    await redis.aclose()


async def passes(limiter: RateLimiter, tenant: TenantId, rate_class: RateClass = RateClass.READ) -> bool:
    try:
        await limiter.take(tenant, rate_class)
    except LimitExceeded:
        return False
    return True


async def test_a_tenants_rate_is_one_over_all_replicas(redis: Redis) -> None:
    replicas = [RateLimiter(redis, RATES, SystemClock()) for _ in range(3)]
    one, other = TenantId(uuid4()), TenantId(uuid4())
    passed = await asyncio.gather(*(passes(limiter, one) for _ in range(40) for limiter in replicas))
    assert 50 <= sum(passed) <= 52, "its burst, and what flowed meanwhile"
    assert await passes(replicas[0], other), "another tenant's is its own"
    assert await passes(replicas[0], one, RateClass.WRITE), "and so is another class's"


async def test_a_refused_request_passes_after_the_time_that_it_was_told(redis: Redis) -> None:
    limiter, tenant = RateLimiter(redis, RATES, SystemClock()), TenantId(uuid4())
    while await passes(limiter, tenant, RateClass.WRITE):
        pass
    with pytest.raises(LimitExceeded) as refused:
        await limiter.take(tenant, RateClass.WRITE)
    await asyncio.sleep(refused.value.retry_after_s)
    await limiter.take(tenant, RateClass.WRITE)


async def test_a_request_over_one_limit_is_charged_to_none(redis: Redis) -> None:
    limiter, tenant = RateLimiter(redis, RATES, SystemClock()), TenantId(uuid4())
    await limiter.take(tenant, RateClass.READ, {"": 100.0, "vision": 0.001})
    for _ in range(60):
        with pytest.raises(LimitExceeded, match="workspace 'vision' exceeds its quota"):
            await limiter.take(tenant, RateClass.READ, {"": 100.0, "vision": 0.001})
    status = rate_limit_status()
    assert status is not None and status.name == "workspace" and status.tokens < 1
    await limiter.take(tenant, RateClass.READ)
    status = rate_limit_status()
    assert status is not None and 48 <= status.tokens <= 50


async def test_the_shown_tokens_are_those_that_are_left(redis: Redis) -> None:
    limiter, tenant = RateLimiter(redis, RATES, SystemClock()), TenantId(uuid4())
    for spent in range(1, 21):
        assert await passes(limiter, tenant)
        status = rate_limit_status()
        assert status is not None and 50 - spent <= status.tokens <= 51 - spent


async def test_an_emptied_redis_begins_full_buckets(redis: Redis) -> None:
    limiter, tenant = RateLimiter(redis, RATES, SystemClock()), TenantId(uuid4())
    assert sum([await passes(limiter, tenant) for _ in range(60)]) >= 50
    await redis.flushall()
    assert await passes(limiter, tenant)

"""Rate limits while Redis is up, down, and up again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import pytest
from redis.exceptions import ConnectionError as RedisDown

from services.gateway.platform.limits.buckets import Bucket, Rate, RateClass, take
from services.gateway.platform.limits.exceeded import LimitExceeded
from services.gateway.platform.limits.rate_limits import RateLimiter, rate_limit_status
from shared.ids import TenantId
from shared.telemetry import metrics

TENANT = TenantId(UUID(int=1))
RATE = Rate(10.0, 20.0)


@dataclass
class Time:
    """A clock that stands still until it is moved."""

    now_s: float = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)


@dataclass
class FakeRedis:
    """Answers the script as Redis does, unless it is down."""

    time: Time
    is_up: bool = True
    asked: int = 0
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def register_script(self, _: str) -> Callable[..., Any]:
        async def run(keys: list[str], args: list[float]) -> list[Any]:
            self.asked += 1
            if not self.is_up:
                await asyncio.sleep(0)
                raise RedisDown("refused")
            rates = [Rate(*pair) for pair in zip(args[::2], args[1::2], strict=True)]
            before = [(self.buckets.get(key), rate) for key, rate in zip(keys, rates, strict=True)]
            after, taken = take(before, self.time.now_s)
            self.buckets.update(zip(keys, after, strict=True))
            return [int(taken), *(str(bucket.tokens).encode() for bucket in after)]

        return run


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def redis(time: Time) -> FakeRedis:
    return FakeRedis(time)


def replica(redis: FakeRedis | None, time: Time) -> RateLimiter:
    return RateLimiter(cast(Any, redis), {RateClass.READ: RATE}, time)


async def passing(limiter: RateLimiter, count: int) -> int:
    """How many of `count` requests pass."""
    passed = 0
    for _ in range(count):
        try:
            await limiter.take(TENANT, RateClass.READ)
            passed += 1
        except LimitExceeded:
            continue
    return passed


def is_local() -> bool:
    return "muster_gateway_local_rate_limits 1.0" in metrics.exposition("")[0].decode()


async def test_a_refused_request_passes_after_the_time_that_it_was_told(redis: FakeRedis, time: Time) -> None:
    limiter = replica(redis, time)
    await passing(limiter, 20)
    with pytest.raises(LimitExceeded, match="10 read requests") as refused:
        await limiter.take(TENANT, RateClass.READ)
    time.now_s += refused.value.retry_after_s - 0.01
    assert await passing(limiter, 1) == 0
    time.now_s += 0.01
    assert await passing(limiter, 1) == 1


async def test_each_request_asks_redis_once_for_all_its_buckets_and_a_refused_one_is_charged_nowhere(
    redis: FakeRedis, time: Time
) -> None:
    limiter, own = replica(redis, time), {"": 4.0, "vision": 1.0}
    for _ in range(2):
        await limiter.take(TENANT, RateClass.READ, own)
    for _ in range(50):
        with pytest.raises(LimitExceeded, match="workspace 'vision' exceeds its quota"):
            await limiter.take(TENANT, RateClass.READ, own)
    assert redis.asked == 52
    status = rate_limit_status()
    assert status is not None and (status.name, status.tokens) == ("workspace", 0.0)
    assert await passing(limiter, 20) == 18, "the refused requests took nothing from the class"


async def test_the_emptiest_bucket_is_shown(redis: FakeRedis, time: Time) -> None:
    limiter = replica(redis, time)
    await limiter.take(TENANT, RateClass.READ, {"": 4.0})
    status = rate_limit_status()
    assert status is not None
    assert status.headers() == {"RateLimit-Policy": '"tenant";q=8;w=2', "RateLimit": '"tenant";r=7;t=1'}


async def test_while_redis_is_down_half_passes_and_afterwards_all(redis: FakeRedis, time: Time) -> None:
    limiter = replica(redis, time)
    redis.is_up = False
    assert await passing(limiter, 50) == 10
    assert redis.asked == 1, "nobody waits for Redis after the first failure"
    assert is_local()
    time.now_s += 1.1
    assert sum(await asyncio.gather(*(passing(limiter, 1) for _ in range(50)))) == 5
    assert redis.asked == 2, "one request a second tries again, however many come at once"
    redis.is_up = True
    assert await passing(limiter, 50) == 0
    time.now_s += 1.1
    assert await passing(limiter, 50) == 20
    assert not is_local()


async def test_without_redis_half_passes(time: Time) -> None:
    assert await passing(replica(None, time), 50) == 10


async def test_attempts_to_sign_in_use_the_same_buckets(redis: FakeRedis, time: Time) -> None:
    one, other = replica(redis, time), replica(redis, time)
    for limiter in (one, other) * 5:
        await limiter.attempt("source", "ada")
    with pytest.raises(LimitExceeded, match="too many sign-in attempts") as refused:
        await one.attempt("source", "ada")
    assert refused.value.retry_after_s == pytest.approx(20.0)
    assert not any("ada" in key for key in redis.buckets), (
        "a name may be a secret that was typed into its field"
    )
    await other.attempt("source", "bob")

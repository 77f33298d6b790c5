"""Rate limits: token buckets in Redis that replicas share, and local ones of half the rate while Redis is down."""

import hashlib
import math
from collections import OrderedDict
from collections.abc import Awaitable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.gateway.platform.limits.buckets import Bucket, Rate, RateClass, RateLimitStatus, take
from services.gateway.platform.limits.exceeded import LimitExceeded
from shared.clock import Clock
from shared.ids import TenantId
from shared.runtime.outages import Outages
from shared.telemetry import metrics

_LOCAL_SHARE = 0.5
_BURST_S = 2.0
_RETRY_REDIS_S = 1.0
_MAX_LOCAL_BUCKETS = 10_000
_REDIS = "asking redis; local limits apply"

ATTEMPTS = {
    "address": Rate(0.5, 60.0),
    "source": Rate(1 / 20, 10.0),
    "source_slow": Rate(1 / 300, 40.0),
    "account": Rate(1 / 60, 300.0),
}
"""Sign-in attempts from one address (sixty at once, then thirty a minute), from one address for one account (ten at once, then one in 20 s;
after forty one in 5 min), and for one account from all addresses (three hundred at once, then one a minute)."""

# Takes a token from each bucket, or from none if one is empty. Returns whether it did, and the tokens left in each.
# Replicas share the clock of Redis.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local allowed, left = 1, {}
for i, key in ipairs(KEYS) do
    local per_ms, burst = tonumber(ARGV[2 * i - 1]) / 1000, tonumber(ARGV[2 * i])
    local kept = redis.call('HMGET', key, 'tokens', 'at')
    local passed = math.max(0, now - (tonumber(kept[2]) or now))
    left[i] = math.min(burst, (tonumber(kept[1]) or burst) + passed * per_ms)
    if left[i] < 1 then allowed = 0 end
end
for i, key in ipairs(KEYS) do
    if allowed == 1 then
        left[i] = left[i] - 1
        redis.call('HSET', key, 'tokens', tostring(left[i]), 'at', tostring(now))
        redis.call('PEXPIRE', key, math.ceil(ARGV[2 * i] / ARGV[2 * i - 1] * 1000) + 1000)
    end
    left[i] = tostring(left[i])
end
return {allowed, unpack(left)}
"""
_status: ContextVar[RateLimitStatus | None] = ContextVar("rate_limit_status", default=None)


def rate_limit_status() -> RateLimitStatus | None:
    """The emptiest bucket that the current request counts against; None if it counts against none."""
    return _status.get()


@dataclass(frozen=True, slots=True)
class _Limit:
    """A bucket that a request counts against: its key in Redis, its name in headers, and the message of a refusal."""

    key: str
    name: str
    rate: Rate
    message: str


class RateLimiter:
    """Takes a token for each request. While Redis is down each replica allows half of each rate."""

    def __init__(self, redis: Redis | None, rates: Mapping[RateClass, Rate], clock: Clock) -> None:
        self._script = redis.register_script(_TAKE) if redis is not None else None
        self._rates = rates
        self._clock = clock
        self._local: OrderedDict[str, Bucket] = OrderedDict()
        self._retry_at_s = 0.0
        self._outages = Outages()

    async def take(
        self, tenant: TenantId, rate_class: RateClass, own: Mapping[str, float] | None = None
    ) -> None:
        """Count a request of the tenant.

        Args:
            own: requests per second set for the tenant ("") and for workspaces by name.
        Raises:
            LimitExceeded: with the time until the emptiest bucket has a token; nothing was counted.
        """
        limits = [_limit_of_class(tenant, rate_class, self._rates[rate_class])]
        limits += [_own_limit(tenant, workspace, per_s) for workspace, per_s in (own or {}).items()]
        found = await self._take(limits)
        _status.set(min(found, key=lambda one: one.tokens))

    async def attempt(self, kind: str, who: str) -> None:
        """Count a sign-in attempt for an account or from an address, whether or not the account exists. Raises LimitExceeded."""
        # A name may be long, or a secret typed into the wrong field.
        key = f"muster:attempt:{kind}:{hashlib.sha256(who.encode()).hexdigest()}"
        await self._take([_Limit(key, kind, ATTEMPTS[kind], "too many sign-in attempts")])

    async def _take(self, limits: Sequence[_Limit]) -> list[RateLimitStatus]:
        allowed, found = await self._take_shared(limits) or self._take_local(limits)
        if not allowed:
            limit, status = max(zip(limits, found, strict=True), key=lambda one: one[1].wait_s)
            _status.set(status)
            raise LimitExceeded("rate", limit.message, math.ceil(status.wait_s * 1000) / 1000)
        return found

    async def _take_shared(self, limits: Sequence[_Limit]) -> tuple[bool, list[RateLimitStatus]] | None:
        """Take tokens from the buckets in Redis. Return None while Redis is down."""
        if self._script is None or not self._may_ask():
            return None
        rates = [number for limit in limits for number in (limit.rate.per_s, limit.rate.burst)]
        try:
            answer = self._script(keys=[limit.key for limit in limits], args=rates)
            allowed, *left = await cast(Awaitable[list[bytes]], answer)
        except (RedisError, OSError, TimeoutError) as error:
            self._retry_at_s = self._clock.monotonic() + _RETRY_REDIS_S
            self._outages.failed(_REDIS, error)
            metrics.rate_limits_local(True)
            return None
        if self._retry_at_s:
            self._retry_at_s = 0.0
            self._outages.worked(_REDIS)
            metrics.rate_limits_local(False)
        return bool(allowed), [
            RateLimitStatus(limit.name, limit.rate, float(tokens))
            for limit, tokens in zip(limits, left, strict=True)
        ]

    def _may_ask(self) -> bool:
        """Return False while Redis is down, except for one request per second, which checks whether it is back."""
        now_s = self._clock.monotonic()
        if now_s < self._retry_at_s:
            return False
        if self._retry_at_s:
            self._retry_at_s = now_s + _RETRY_REDIS_S
        return True

    def _take_local(self, limits: Sequence[_Limit]) -> tuple[bool, list[RateLimitStatus]]:
        rates = [limit.rate.scaled(_LOCAL_SHARE) for limit in limits]
        before = [(self._local.get(limit.key), rate) for limit, rate in zip(limits, rates, strict=True)]
        buckets, allowed = take(before, self._clock.monotonic())
        for limit, bucket in zip(limits, buckets, strict=True):
            self._local[limit.key] = bucket
            self._local.move_to_end(limit.key)
        while len(self._local) > _MAX_LOCAL_BUCKETS:
            self._local.popitem(last=False)
        return allowed, [
            RateLimitStatus(limit.name, rate, bucket.tokens)
            for limit, rate, bucket in zip(limits, rates, buckets, strict=True)
        ]


@lru_cache(maxsize=4096)
def _limit_of_class(tenant: TenantId, rate_class: RateClass, rate: Rate) -> _Limit:
    message = f"your tenant exceeds its rate limit of {rate.per_s:g} {rate_class} requests per second"
    return _Limit(_key(tenant, rate_class), rate_class, rate, message)


@lru_cache(maxsize=4096)
def _own_limit(tenant: TenantId, workspace: str, per_s: float) -> _Limit:
    whose = f"workspace '{workspace}'" if workspace else "your tenant"
    return _Limit(
        _key(tenant, f"own:{workspace.encode().hex()}"),
        "workspace" if workspace else "tenant",
        Rate(per_s, max(1.0, per_s * _BURST_S)),
        f"{whose} exceeds its quota of {per_s:g} requests per second",
    )


def _key(tenant: TenantId, bucket: str) -> str:
    """The braces keep all buckets of a tenant on one node of a Redis cluster."""
    return f"muster:rate:{{{tenant}}}:{bucket}"

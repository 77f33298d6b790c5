"""How many requests a tenant may send: token buckets in Redis, and cautious ones of our own while Redis is away."""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from muster.errors import Transient
from services.gateway.core.buckets import Bucket, Rate, Standing, take
from services.gateway.operations.operation import RateClass
from shared.clock import Clock
from shared.ids import TenantId
from shared.outages import Outages

_LOCAL_SHARE = 0.5
_BURST_S = 2.0
_AWAY_S = 1.0
_MOST = 10_000
_REDIS = "asking redis; local limits apply"

ATTEMPTS = {"account": Rate(1 / 20, 10.0), "address": Rate(0.5, 60.0)}
"""How often a password may be tried for one account, and from one address: ten at once, then three a minute; sixty at once, then thirty."""

# Returns the milliseconds to wait, 0 when a token was taken, and the tokens left. The clock is Redis's: replicas share it.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local per_ms, burst = tonumber(ARGV[1]) / 1000, tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(kept[1]) or burst) + math.max(0, now - (tonumber(kept[2]) or now)) * per_ms)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = math.ceil((1 - tokens) / per_ms) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / per_ms) + 1000)
return {wait, tostring(tokens)}
"""
_left: ContextVar[float] = ContextVar("left", default=0.0)
"""The tokens that the request being answered has left in the bucket it drew from last."""
_standing: ContextVar[Standing | None] = ContextVar("standing", default=None)


def standing() -> Standing | None:
    """Where the request that is being answered stands with its rate; None where it draws from none."""
    return _standing.get()


class Limiter:
    """Takes a token for each request. Without Redis each replica allows half the rate by itself."""

    def __init__(self, redis: Redis | None, rates: Mapping[RateClass, Rate], clock: Clock) -> None:
        self._redis = redis
        self._script = redis.register_script(_TAKE) if redis is not None else None
        self._rates = rates
        self._clock = clock
        self._local: OrderedDict[str, Bucket] = OrderedDict()
        self._away_until_s = 0.0
        self._outages = Outages()

    async def take(self, tenant: TenantId, rate_class: RateClass) -> None:
        """Raises Transient (`rate_limited`) with the time to wait."""
        rate = self._rates[rate_class]
        told = f"your tenant sends more than {rate.per_s:g} {rate_class} requests a second"
        await self._take(f"muster:rate:{tenant}:{rate_class}", rate, str(rate_class), told)

    async def take_own(self, tenant: TenantId, workspace: str, per_s: float) -> None:
        """The same from a bucket of all requests, at the rate that was set for the tenant (""), or for a workspace of it."""
        whose = f"workspace '{workspace}'" if workspace else "your tenant"
        told = f"{whose} sends more than the {per_s:g} requests a second that were set for it"
        key = f"muster:rate:{tenant}:own:{workspace.encode().hex()}"
        name = "workspace" if workspace else "tenant"
        await self._take(key, Rate(per_s, max(1.0, per_s * _BURST_S)), name, told)

    async def _take(self, key: str, rate: Rate, name: str, told: str) -> None:
        rate, wait_s = await self._drawn(key, rate)
        stands, before = Standing(name, rate, _left.get()), _standing.get()
        if before is None or stands.tokens <= before.tokens:  # Of several buckets the emptiest is told of.
            _standing.set(stands)
        if wait_s > 0:
            raise Transient(told, retry_after_s=round(wait_s, 3), code="rate_limited")

    async def attempt(self, kind: str, who: str) -> None:
        """Raises Transient (`rate_limited`) where `who` has tried to sign in too often, whether or not there is such a one."""
        # A name may be long, or hold what somebody typed into the wrong field.
        key, rate = f"muster:attempt:{kind}:{hashlib.sha256(who.encode()).hexdigest()}", ATTEMPTS[kind]
        _, wait_s = await self._drawn(key, rate)
        if wait_s > 0:
            raise Transient(
                "there were too many attempts to sign in", retry_after_s=round(wait_s, 3), code="rate_limited"
            )

    async def _drawn(self, key: str, rate: Rate) -> tuple[Rate, float]:
        """Takes a token; returns the rate that it was taken by, and the seconds to wait where there was none."""
        wait_s = await self._shared(key, rate)
        if wait_s is not None:
            return rate, wait_s
        cautious = Rate(rate.per_s * _LOCAL_SHARE, max(1.0, rate.burst * _LOCAL_SHARE))
        return cautious, self._alone(key, cautious)

    async def _shared(self, key: str, rate: Rate) -> float | None:
        if self._script is None or self._clock.monotonic() < self._away_until_s:
            return None
        try:
            answer = self._script(keys=[key], args=[rate.per_s, rate.burst])
            wait_ms, tokens = await cast(Awaitable[tuple[int, bytes]], answer)
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until_s = self._clock.monotonic() + _AWAY_S
            self._outages.failed(_REDIS, error)
            return None
        self._outages.worked(_REDIS)
        _left.set(float(tokens))
        return wait_ms / 1000

    def _alone(self, key: str, rate: Rate) -> float:
        bucket, wait_s = take(self._local.get(key), rate, self._clock.monotonic())
        self._local[key] = bucket
        self._local.move_to_end(key)
        if len(self._local) > _MOST:
            self._local.popitem(last=False)
        _left.set(bucket.tokens)
        return wait_s

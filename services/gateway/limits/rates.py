"""How many requests a tenant may send: token buckets in Redis, drawn from by leases, and cautious ones of our own while Redis is away."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from muster.errors import Transient
from services.gateway.core.buckets import Bucket, Lease, Rate, Standing, take
from services.gateway.operations.operation import RateClass
from shared.clock import Clock
from shared.ids import TenantId
from shared.outages import Outages

_LOCAL_SHARE = 0.5
_BURST_S = 2.0
_AWAY_S = 1.0
_MOST = 10_000
RATE_LIMITED = "rate_limited"
"""The code of what comes too fast."""
_REDIS = "asking redis; local limits apply"

ATTEMPTS = {"account": Rate(1 / 20, 10.0), "address": Rate(0.5, 60.0)}
"""How often a password may be tried for one account, and from one address: ten at once, then three a minute; sixty at once, then thirty."""

# Takes as many tokens as there are, up to those wanted. Returns the milliseconds to wait, 0 when one was taken, the tokens taken and those left.
# The clock is Redis's: replicas share it.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local per_ms, burst = tonumber(ARGV[1]) / 1000, tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(burst, (tonumber(kept[1]) or burst) + math.max(0, now - (tonumber(kept[2]) or now)) * per_ms)
local taken, wait = math.min(tonumber(ARGV[3]), math.floor(tokens)), 0
if taken >= 1 then tokens = tokens - taken else wait = math.ceil((1 - tokens) / per_ms) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / per_ms) + 1000)
return {wait, taken, tostring(tokens)}
"""
_standing: ContextVar[Standing | None] = ContextVar("standing", default=None)


def standing() -> Standing | None:
    """Where the request that is being answered stands with its rate; None where it draws from none."""
    return _standing.get()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What came of drawing from a bucket in Redis."""

    tokens: int
    left: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class _Taken:
    """A token was taken, or is there after `wait_s`: by which rate, and how many the tenant has left."""

    rate: Rate
    left: float
    wait_s: float


class Limiter:
    """Takes a token for each request. Without Redis each replica allows half the rate by itself."""

    def __init__(self, redis: Redis | None, rates: Mapping[RateClass, Rate], clock: Clock) -> None:
        self._redis = redis
        self._script = redis.register_script(_TAKE) if redis is not None else None
        self._rates = rates
        self._clock = clock
        self._leases: OrderedDict[str, Lease] = OrderedDict()
        self._drawing: dict[str, asyncio.Task[bool]] = {}
        self._local: OrderedDict[str, Bucket] = OrderedDict()
        self._away_until_s = 0.0
        self._outages = Outages()

    async def take(self, tenant: TenantId, rate_class: RateClass) -> None:
        """Raises Transient (`rate_limited`) with the time to wait."""
        rate = self._rates[rate_class]
        wait_s = await self._take(_key_of(tenant, rate_class), rate, rate_class)
        if wait_s > 0:
            raise _too_fast(
                f"your tenant sends more than {rate.per_s:g} {rate_class} requests a second", wait_s
            )

    async def take_own(self, tenant: TenantId, workspace: str, per_s: float) -> None:
        """The same from a bucket of all requests, at the rate that was set for the tenant (""), or for a workspace of it."""
        rate = Rate(per_s, max(1.0, per_s * _BURST_S))
        name = "workspace" if workspace else "tenant"
        wait_s = await self._take(_key_of(tenant, f"own:{workspace.encode().hex()}"), rate, name)
        if wait_s > 0:
            whose = f"workspace '{workspace}'" if workspace else "your tenant"
            raise _too_fast(
                f"{whose} sends more than the {per_s:g} requests a second that were set for it", wait_s
            )

    async def _take(self, key: str, rate: Rate, name: str) -> float:
        """Returns the seconds until a token is due to this request, 0 when one was taken."""
        taken = await self._leased(key, rate)
        stands, before = Standing(name, taken.rate, taken.left), _standing.get()
        if before is None or stands.tokens <= before.tokens:  # Of several buckets the emptiest is told of.
            _standing.set(stands)
        if taken.wait_s == 0.0:
            return 0.0
        return self._lease(key, rate).promise(taken.wait_s, self._clock.monotonic())

    async def attempt(self, kind: str, who: str) -> None:
        """Raises Transient (`rate_limited`) where `who` has tried to sign in too often, whether or not there is such a one."""
        # A name may be long, or hold what somebody typed into the wrong field.
        key, rate = f"muster:attempt:{kind}:{hashlib.sha256(who.encode()).hexdigest()}", ATTEMPTS[kind]
        found = await self._shared(key, rate, 1)
        wait_s = self._alone(key, rate).wait_s if found is None else found.wait_s
        if wait_s > 0:
            raise _too_fast("there were too many attempts to sign in", wait_s)

    async def _leased(self, key: str, rate: Rate) -> _Taken:
        """Takes one of the tokens drawn ahead."""
        lease = self._lease(key, rate)
        while (wait_s := lease.take(self._clock.monotonic())) is None:
            if self._is_away() or not await self._draw(key, lease):
                return self._alone(key, rate)
        return _Taken(rate, lease.left(self._clock.monotonic()), wait_s)

    def _lease(self, key: str, rate: Rate) -> Lease:
        lease = self._leases.get(key)
        if lease is None or lease.rate != rate:
            lease = self._leases[key] = Lease(rate)
        _keep_newest(self._leases, key)
        return lease

    async def _draw(self, key: str, lease: Lease) -> bool:
        """Draws once for all requests that wait for it; False while Redis is away. One that is given up takes nothing from the others."""
        drawing = self._drawing.get(key)
        if drawing is None:
            drawing = self._drawing[key] = asyncio.create_task(self._draw_ahead(key, lease))
        lease.waiting += 1
        try:
            return await asyncio.shield(drawing)
        finally:
            lease.waiting -= 1

    async def _draw_ahead(self, key: str, lease: Lease) -> bool:
        try:
            found = await self._shared(key, lease.rate, lease.wanted(self._clock.monotonic()))
            if found is not None:
                lease.draw(found.tokens, found.left, found.wait_s, self._clock.monotonic())
            return found is not None
        finally:
            # Before it is done: who found it done would wait for nothing, and ask again without an end.
            del self._drawing[key]

    async def _shared(self, key: str, rate: Rate, wanted: int) -> _Drawn | None:
        if self._script is None or self._is_away():
            return None
        try:
            answer = self._script(keys=[key], args=[rate.per_s, rate.burst, wanted])
            wait_ms, tokens, left = await cast(Awaitable[tuple[int, int, bytes]], answer)
        except (RedisError, OSError, TimeoutError) as error:
            self._away_until_s = self._clock.monotonic() + _AWAY_S
            self._outages.failed(_REDIS, error)
            return None
        self._outages.worked(_REDIS)
        return _Drawn(tokens, float(left), wait_ms / 1000)

    def _is_away(self) -> bool:
        return self._script is None or self._clock.monotonic() < self._away_until_s

    def _alone(self, key: str, rate: Rate) -> _Taken:
        """Takes a token of a bucket of this replica's own, which is half as large."""
        cautious = Rate(rate.per_s * _LOCAL_SHARE, max(1.0, rate.burst * _LOCAL_SHARE))
        bucket, wait_s = take(self._local.get(key), cautious, self._clock.monotonic())
        self._local[key] = bucket
        _keep_newest(self._local, key)
        return _Taken(cautious, bucket.tokens, wait_s)


@lru_cache(maxsize=4096)
def _key_of(tenant: TenantId, bucket: str) -> str:
    """The bucket's name in Redis. Every request asks for one, and writing an id takes longer than finding it."""
    return f"muster:rate:{tenant}:{bucket}"


def _too_fast(told: str, wait_s: float) -> Transient:
    return Transient(told, retry_after_s=round(wait_s, 3), code=RATE_LIMITED)


def _keep_newest(known: OrderedDict[str, Any], key: str) -> None:
    """Of many buckets those are forgotten that nobody has drawn from for longest."""
    known.move_to_end(key)
    if len(known) > _MOST:
        known.popitem(last=False)

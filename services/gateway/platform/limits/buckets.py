"""Token buckets: how many requests may be sent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class RateClass(StrEnum):
    """Which bucket of the caller's tenant an operation draws from."""

    READ = "read"
    WRITE = "write"
    STREAM = "stream"
    JOIN = "join"


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_s` tokens flow in each second, up to `burst`."""

    per_s: float
    burst: float

    def scaled(self, share: float) -> "Rate":
        """A share of the rate, with a burst of at least one."""
        return Rate(self.per_s * share, max(1.0, self.burst * share))


@dataclass(frozen=True, slots=True)
class Bucket:
    """The tokens left at a moment (seconds of any steady clock)."""

    tokens: float
    at_s: float


def take(buckets: Sequence[tuple[Bucket | None, Rate]], now_s: float) -> tuple[list[Bucket], bool]:
    """Take a token from each bucket, or from none if one is empty; return the buckets and whether tokens were taken.

    None stands for a full bucket.
    """
    filled = [_refill(bucket, rate, now_s) for bucket, rate in buckets]
    if any(bucket.tokens < 1.0 for bucket in filled):
        return filled, False
    return [Bucket(bucket.tokens - 1.0, now_s) for bucket in filled], True


@dataclass(frozen=True, slots=True)
class RateLimitStatus:
    """How much of a rate is left, and the headers that say so (draft-ietf-httpapi-ratelimit-headers)."""

    name: str
    rate: Rate
    tokens: float

    @property
    def wait_s(self) -> float:
        """Seconds until the bucket holds a token."""
        return max(0.0, 1.0 - self.tokens) / self.rate.per_s

    def headers(self) -> dict[str, str]:
        """The policy, the whole requests left, and the seconds until the bucket is full."""
        reset_s = math.ceil((self.rate.burst - self.tokens) / self.rate.per_s)
        return {
            "RateLimit-Policy": _policy(self.name, self.rate.per_s, self.rate.burst),
            "RateLimit": f'"{self.name}";r={max(0, math.floor(self.tokens))};t={max(0, reset_s)}',
        }


def _refill(bucket: Bucket | None, rate: Rate, now_s: float) -> Bucket:
    if bucket is None:
        return Bucket(rate.burst, now_s)
    return Bucket(min(rate.burst, bucket.tokens + max(0.0, now_s - bucket.at_s) * rate.per_s), now_s)


@lru_cache(maxsize=1024)
def _policy(name: str, per_s: float, burst: float) -> str:
    return f'"{name}";q={math.floor(burst)};w={math.ceil(burst / per_s)}'

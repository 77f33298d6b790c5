"""Token buckets: how many requests a tenant may send."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    """`per_s` tokens flow in each second, up to `burst`."""

    per_s: float
    burst: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """The tokens left at a moment (seconds of any steady clock)."""

    tokens: float
    at_s: float


def take(bucket: Bucket | None, rate: Rate, now_s: float) -> tuple[Bucket, float]:
    """Takes one token; returns the bucket after it and 0, or the bucket unchanged and the seconds to wait."""
    if bucket is None:
        bucket = Bucket(rate.burst, now_s)
    tokens = min(rate.burst, bucket.tokens + max(0.0, now_s - bucket.at_s) * rate.per_s)
    if tokens >= 1.0:
        return Bucket(tokens - 1.0, now_s), 0.0
    return Bucket(tokens, now_s), (1.0 - tokens) / rate.per_s


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of a rate a caller has left, as the headers tell it that the IETF is working on (draft-ietf-httpapi-ratelimit-headers)."""

    name: str
    rate: Rate
    tokens: float

    def headers(self) -> dict[str, str]:
        """The policy, and what is left of it: whole requests now, and the seconds until all of them are there again."""
        quota, window_s = math.floor(self.rate.burst), math.ceil(self.rate.burst / self.rate.per_s)
        reset_s = math.ceil((self.rate.burst - self.tokens) / self.rate.per_s)
        return {
            "RateLimit-Policy": f'"{self.name}";q={quota};w={window_s}',
            "RateLimit": f'"{self.name}";r={max(0, math.floor(self.tokens))};t={max(0, reset_s)}',
        }

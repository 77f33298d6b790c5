"""Token buckets: how many requests a tenant may send."""

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

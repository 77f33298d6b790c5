"""Token buckets: how many requests a tenant may send, and what a replica draws ahead from one that replicas share."""

import math
from dataclasses import dataclass
from functools import lru_cache


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


LEASE_S = 1.0
"""What was drawn ahead and not spent is let go after this long: others may have it, and nobody saves it up beside a full bucket."""
_AHEAD_S = 0.1
_SHARE = 0.1
"""Of what a bucket holds, this much may lie ahead at one replica."""
LONGEST_S = 10.0
"""Nobody waits longer for those before: who comes then, and finds no token, is told again."""


class Lease:
    """Tokens that one replica has drawn ahead from a bucket that all share: spent without asking, and drawn anew when they are.

    As many are drawn as go in a tenth of a second at the pace so far, at most twice as many as the last time and a tenth of the
    bucket, and one for each request that waits. An empty bucket is remembered until its next token: whoever asks too often asks nobody.
    Tokens that are still to come are promised one by one, in the order of those who are told to wait (virtual scheduling, ITU-T I.371).
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self.waiting = 0
        """How many requests wait for what is being drawn."""
        self._held = 0
        self._drawn = 0
        self._behind = 0.0
        self._at_s = 0.0
        self._empty_until_s = 0.0
        self._promised_s = 0.0

    def take(self, now_s: float) -> float | None:
        """Takes a token: 0, or the seconds until the bucket has one again; None where tokens must be drawn first."""
        if self._empty_until_s > now_s:
            return self._empty_until_s - now_s
        if self._held < 1 or now_s - self._at_s >= LEASE_S:
            return None
        self._held -= 1
        return 0.0

    def wanted(self, now_s: float) -> int:
        """How many tokens to draw now."""
        spent, passed_s = self._drawn - self._held, max(now_s - self._at_s, 1e-3)
        ahead = min(spent / passed_s * _AHEAD_S, 2.0 * self._drawn, self.rate.burst * _SHARE)
        return max(1, math.floor(ahead), self.waiting)

    def draw(self, tokens: int, behind: float, wait_s: float, now_s: float) -> None:
        """Takes over what came of drawing: the tokens, how many are left behind in the bucket, and the wait where there was none."""
        self._held = self._drawn = tokens
        self._behind, self._at_s = behind, now_s
        self._empty_until_s = now_s + wait_s

    def promise(self, wait_s: float, now_s: float) -> float:
        """The seconds until a token is there for one more who waits: the bucket has its next in `wait_s`, and each before was promised one."""
        following_s = self._promised_s + 1.0 / self.rate.per_s
        self._promised_s = now_s + max(wait_s, min(following_s - now_s, LONGEST_S))
        return self._promised_s - now_s

    def left(self, now_s: float) -> float:
        """How many tokens the tenant has left, as far as this replica knows."""
        flown = max(0.0, now_s - self._at_s) * self.rate.per_s
        return min(self.rate.burst, self._held + self._behind + flown)


@dataclass(frozen=True, slots=True)
class Standing:
    """How much of a rate a caller has left, as the headers tell it that the IETF is working on (draft-ietf-httpapi-ratelimit-headers)."""

    name: str
    rate: Rate
    tokens: float

    def headers(self) -> dict[str, str]:
        """The policy, and what is left of it: whole requests now, and the seconds until all of them are there again."""
        reset_s = math.ceil((self.rate.burst - self.tokens) / self.rate.per_s)
        return {
            "RateLimit-Policy": _policy(self.name, self.rate.per_s, self.rate.burst),
            "RateLimit": f'"{self.name}";r={max(0, math.floor(self.tokens))};t={max(0, reset_s)}',
        }


@lru_cache(maxsize=1024)
def _policy(name: str, per_s: float, burst: float) -> str:
    return f'"{name}";q={math.floor(burst)};w={math.ceil(burst / per_s)}'

"""Rate limit for calls to providers: clouds refill a token bucket and refuse calls while it is empty."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random
from typing import TypeVar

from shared.clock import Clock
from shared.errors import Transient

T = TypeVar("T")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0


class Throttled(Transient):
    """The provider throttled the call, which had no effect."""


class RateLimiter:
    """Limits calls of one kind to one provider: bursts of `burst`, then `per_s` a second, in order.

    A call that is throttled anyway (others use the account too) is repeated after a doubling pause with full jitter,
    until `patience` is over.
    """

    def __init__(self, per_s: float, burst: int, patience: timedelta, clock: Clock, chance: Random) -> None:
        self._per_s = per_s
        self._burst_s = (burst - 1) / per_s
        self._timeout_s = patience.total_seconds()
        self._clock = clock
        self._chance = chance
        self._due = float("-inf")
        """Time of the next call if no burst were saved up."""

    async def call(self, what: Callable[[], Awaitable[T]]) -> T:
        """Call `what` when the rate limit allows it and return its result.

        Raises:
            Throttled: The provider throttled the call for longer than the timeout.
        """
        deadline, pause_s = self._clock.monotonic() + self._timeout_s, FIRST_PAUSE_S
        while True:
            await asyncio.sleep(self._wait_s())
            try:
                return await what()
            except Throttled:
                if self._clock.monotonic() + pause_s > deadline:
                    raise
            await asyncio.sleep(self._chance.uniform(0, pause_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _wait_s(self) -> float:
        """Reserve the next call and return how long to wait for it."""
        now = self._clock.monotonic()
        self._due = max(self._due, now - self._burst_s)
        wait_s = self._due - now
        self._due += 1 / self._per_s
        return max(0.0, wait_s)

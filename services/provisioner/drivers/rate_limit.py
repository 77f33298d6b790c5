"""How fast a provider may be called: the clouds refill a bucket of calls, and who empties it is refused for a while."""

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
    """The provider was called too often. What it was asked for was not done."""


class RateLimiter:
    """Calls of one kind to one provider: `burst` at once, then `per_s` a second, in the order of asking.

    A call that is throttled all the same (others use the account too) is made again after a pause that doubles, with full jitter, until
    `patience` is over.
    """

    def __init__(self, per_s: float, burst: int, patience: timedelta, clock: Clock, chance: Random) -> None:
        self._per_s = per_s
        self._burst_s = (burst - 1) / per_s
        self._patience_s = patience.total_seconds()
        self._clock = clock
        self._chance = chance
        self._due = float("-inf")
        """When the next call would be made if none had been saved up."""

    async def call(self, what: Callable[[], Awaitable[T]]) -> T:
        """What `what` returns, made when it is its turn.

        Raises:
            Throttled: Again and again, for longer than the patience.
        """
        deadline, pause_s = self._clock.monotonic() + self._patience_s, FIRST_PAUSE_S
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
        """Takes a turn, and says how long it is until then."""
        now = self._clock.monotonic()
        self._due = max(self._due, now - self._burst_s)
        wait_s = self._due - now
        self._due += 1 / self._per_s
        return max(0.0, wait_s)

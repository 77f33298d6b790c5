"""Open streams: how many a tenant has here, since each holds memory and a place, and the silences between what comes on one."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from services.gateway.platform.limits.exceeded import LimitExceeded
from shared.ids import TenantId

IDLE_TICK_S = 15.0
"""After so long without anything a stream shows that it is there, and whose it is is looked at again."""
_RETRY_AFTER_S = 5.0
T = TypeVar("T")


class OpenStreams:
    """Counts them, by replica."""

    def __init__(self, most_of_tenant: int) -> None:
        self._most = most_of_tenant
        self._open: Counter[TenantId] = Counter()

    @contextmanager
    def one(self, tenant: TenantId) -> Iterator[None]:
        """Around one stream. Raises LimitExceeded where the tenant has too many."""
        if self._open[tenant] >= self._most:
            told = f"your tenant has {self._most} streams open here; close some, or follow several things with one"
            raise LimitExceeded("streams", told, _RETRY_AFTER_S)
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]


async def with_idle_ticks(items: AsyncIterator[T], quiet_s: float) -> AsyncIterator[T | None]:
    """The items, and None whenever none came for a while. Closes the items when it is closed."""
    waiting: asyncio.Future[T] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(items))
            done, _ = await asyncio.wait({waiting}, timeout=quiet_s)
            if not done:
                yield None
                continue
            finished, waiting = waiting, None
            try:
                yield finished.result()
            except StopAsyncIteration:
                return
    finally:
        if waiting is not None:
            waiting.cancel()
            await asyncio.wait({waiting})  # What is still under way cannot be closed.
        await cast(AsyncGenerator[T], items).aclose()

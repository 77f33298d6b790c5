"""Limits the open streams of a tenant on this replica, and marks idle intervals in streams."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from services.gateway.platform.limits.exceeded import LimitExceeded
from shared.ids import TenantId

IDLE_TICK_S = 15.0
"""Idle interval after which a stream sends a sign of life and its caller's permissions are checked again."""
_RETRY_AFTER_S = 5.0
T = TypeVar("T")


class OpenStreams:
    """Counts the open streams of this replica by tenant."""

    def __init__(self, max_per_tenant: int) -> None:
        self._most = max_per_tenant
        self._open: Counter[TenantId] = Counter()

    @contextmanager
    def hold(self, tenant: TenantId) -> Iterator[None]:
        """Count a stream until the block ends. Raises LimitExceeded if the tenant has too many."""
        if self._open[tenant] >= self._most:
            message = f"your tenant has {self._most} open streams on this replica, which is the maximum; close some of them"
            raise LimitExceeded("streams", message, _RETRY_AFTER_S)
        self._open[tenant] += 1
        try:
            yield
        finally:
            self._open[tenant] -= 1
            if not self._open[tenant]:
                del self._open[tenant]


async def with_idle_ticks(items: AsyncIterator[T], quiet_s: float) -> AsyncIterator[T | None]:
    """Yield the items, and None after every idle interval. Closing this generator closes `items`."""
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
            await asyncio.wait({waiting})  # A generator cannot be closed while it runs.
        await cast(AsyncGenerator[T], items).aclose()

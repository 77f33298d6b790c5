"""Concurrency limits by tenant: a tenant's excess requests wait for its own requests, not for those of other tenants."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.ids import TenantId


class TenantConcurrencyLimit:
    """At most `most` concurrent holders per tenant."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free: dict[TenantId, asyncio.Semaphore] = {}
        self._asking: dict[TenantId, int] = {}

    @asynccontextmanager
    async def hold(self, tenant: TenantId) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        free = self._free.setdefault(tenant, asyncio.Semaphore(self._most))
        self._asking[tenant] = self._asking.get(tenant, 0) + 1
        try:
            async with free:
                yield
        finally:
            self._asking[tenant] -= 1
            if not self._asking[tenant]:
                del self._asking[tenant], self._free[tenant]


class FairConcurrencyLimit:
    """At most `most` concurrent holders in total. A free slot goes to the tenant that holds the fewest, then to the request that came first."""

    def __init__(self, most: int) -> None:
        self._free = most
        self._held: Counter[TenantId] = Counter()
        self._waiting: list[tuple[TenantId, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def hold(self, tenant: TenantId) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append((tenant, waiter))
        self._give()
        try:
            await waiter
            yield
        finally:
            if waiter.done() and not waiter.cancelled():
                self._held[tenant] -= 1
                self._free += 1
                self._give()
            else:
                self._waiting = [one for one in self._waiting if one[1] is not waiter]

    def _give(self) -> None:
        while self._free and self._waiting:
            index = min(range(len(self._waiting)), key=lambda at: self._held[self._waiting[at][0]])
            tenant, waiter = self._waiting.pop(index)
            if not waiter.cancelled():
                waiter.set_result(None)
                self._held[tenant] += 1
                self._free -= 1

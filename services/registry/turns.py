"""Turns at what is scarce: a tenant has so many at a time, and the rest of its requests wait for each other, not the other tenants'."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.ids import TenantId


class Turns:
    """At most `most` at a time for each tenant."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free: dict[TenantId, asyncio.Semaphore] = {}
        self._asking: dict[TenantId, int] = {}

    @asynccontextmanager
    async def of(self, tenant: TenantId) -> AsyncIterator[None]:
        """Wait for a turn and hold it."""
        free = self._free.setdefault(tenant, asyncio.Semaphore(self._most))
        self._asking[tenant] = self._asking.get(tenant, 0) + 1
        try:
            async with free:
                yield
        finally:
            self._asking[tenant] -= 1
            if not self._asking[tenant]:
                del self._asking[tenant], self._free[tenant]

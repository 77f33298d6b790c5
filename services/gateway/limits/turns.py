"""So many of one tenant at a time: who waits for what its own tenant holds has no connection meanwhile that another could use."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from shared.ids import TenantId


class Turns:
    """Lets in `at_once` of each tenant; the others wait in the order in which they came."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._of: WeakValueDictionary[TenantId, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: TenantId) -> AsyncIterator[None]:
        """Waits for a turn of the tenant's; it ends with the block."""
        places = self._of.get(tenant)
        if places is None:
            places = self._of[tenant] = asyncio.Semaphore(self._at_once)
        async with places:
            yield

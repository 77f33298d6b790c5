"""Concurrency limit that tenants share: none waits behind all requests of another."""

import asyncio

import pytest

from services.registry.concurrency import FairConcurrencyLimit
from shared.ids import DEFAULT_TENANT, TenantId, derived_id

BUSY, QUIET = DEFAULT_TENANT, TenantId(derived_id(DEFAULT_TENANT, "quiet"))


class Work:
    """A slot, held until `end`."""

    def __init__(self, limit: FairConcurrencyLimit, tenant: TenantId) -> None:
        self.began = False
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(limit, tenant))

    async def _run(self, limit: FairConcurrencyLimit, tenant: TenantId) -> None:
        async with limit.hold(tenant):
            self.began = True
            await self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await self.task
        await asyncio.sleep(0)


async def settled(*works: Work) -> list[bool]:
    for _ in range(5):
        await asyncio.sleep(0)
    return [work.began for work in works]


async def test_a_free_slot_goes_to_the_tenant_that_holds_the_fewest() -> None:
    limit = FairConcurrencyLimit(2)
    busy = [Work(limit, BUSY) for _ in range(4)]
    assert await settled(*busy) == [True, True, False, False]
    quiet = [Work(limit, QUIET) for _ in range(2)]
    assert await settled(*quiet) == [False, False]
    await busy[0].end()
    assert await settled(*quiet, *busy[2:]) == [True, False, False, False]
    await busy[1].end()
    assert await settled(quiet[1], *busy[2:]) == [False, True, False], "each tenant holds one"
    for work in (quiet[0], busy[2], quiet[1], busy[3]):
        await work.end()


async def test_who_gives_up_waiting_or_fails_holds_nothing() -> None:
    limit = FairConcurrencyLimit(1)
    first, second, third = (Work(limit, BUSY) for _ in range(3))
    assert await settled(first, second) == [True, False]
    second.task.cancel()
    first.task.cancel()
    for work in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await work.task
    assert await settled(third) == [True]
    await third.end()
    fourth = Work(limit, QUIET)
    assert await settled(fourth) == [True]
    await fourth.end()

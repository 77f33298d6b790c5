"""Turns that tenants share: none waits behind all of another's."""

import asyncio

import pytest

from services.registry.concurrency import FairConcurrencyLimit
from shared.ids import DEFAULT_TENANT, TenantId, derived_id

BUSY, QUIET = DEFAULT_TENANT, TenantId(derived_id(DEFAULT_TENANT, "quiet"))


class Work:
    """Somebody's turn, held until it is told to end."""

    def __init__(self, turns: FairConcurrencyLimit, tenant: TenantId) -> None:
        self.began = False
        self._end = asyncio.Event()
        self.task = asyncio.create_task(self._run(turns, tenant))

    async def _run(self, turns: FairConcurrencyLimit, tenant: TenantId) -> None:
        async with turns.of(tenant):
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


async def test_a_turn_that_is_free_goes_to_the_tenant_that_holds_the_fewest() -> None:
    turns = FairConcurrencyLimit(2)
    busy = [Work(turns, BUSY) for _ in range(4)]
    assert await settled(*busy) == [True, True, False, False]
    quiet = [Work(turns, QUIET) for _ in range(2)]
    assert await settled(*quiet) == [False, False]
    await busy[0].end()
    assert await settled(*quiet, *busy[2:]) == [True, False, False, False]
    await busy[1].end()
    assert await settled(quiet[1], *busy[2:]) == [False, True, False], "each tenant holds one"
    for work in (quiet[0], busy[2], quiet[1], busy[3]):
        await work.end()


async def test_who_gives_up_waiting_or_fails_holds_nothing() -> None:
    turns = FairConcurrencyLimit(1)
    first, second, third = (Work(turns, BUSY) for _ in range(3))
    assert await settled(first, second) == [True, False]
    second.task.cancel()
    first.task.cancel()
    for work in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await work.task
    assert await settled(third) == [True]
    await third.end()
    fourth = Work(turns, QUIET)
    assert await settled(fourth) == [True]
    await fourth.end()

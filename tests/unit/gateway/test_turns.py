"""Those of one tenant wait for each other, and nobody for another's."""

import asyncio
from uuid import UUID

import pytest

from services.gateway.limits.turns import Turns
from shared.ids import TenantId

ONE, OTHER = TenantId(UUID(int=1)), TenantId(UUID(int=2))


async def test_as_many_of_a_tenant_are_let_in_as_was_said_and_all_of_others() -> None:
    turns, inside, go_on = Turns(2), list[TenantId](), asyncio.Event()

    async def hold(tenant: TenantId) -> None:
        async with turns.of(tenant):
            inside.append(tenant)
            await go_on.wait()

    async with asyncio.TaskGroup() as group:
        for tenant in (ONE, ONE, ONE, ONE, OTHER):
            group.create_task(hold(tenant))
        for _ in range(5):
            await asyncio.sleep(0)
        assert sorted(inside) == [ONE, ONE, OTHER]
        go_on.set()
    assert sorted(inside) == [ONE, ONE, ONE, ONE, OTHER]


async def test_who_is_given_up_leaves_its_turn_to_the_next() -> None:
    turns = Turns(1)
    async with turns.of(ONE):
        waiting = asyncio.create_task(_pass(turns))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(1), turns.of(ONE):
        pass


async def _pass(turns: Turns) -> None:
    async with turns.of(ONE):
        raise AssertionError("it was let in")

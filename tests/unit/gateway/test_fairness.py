"""Tenants that send at the same time are worked for equally, however many requests one of them sends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import Transient
from services.gateway.core.permissions import Access
from services.gateway.front import Front
from services.gateway.limits.fairness import AT_ONCE, FairShares
from services.gateway.limits.rates import RATE_LIMITED
from services.gateway.live.streams import OpenStreams
from services.gateway.operations.table import OPERATIONS
from services.gateway.sign_in.authentication import Presented
from shared.ids import TenantId

HOT, CALM, THIRD = (TenantId(UUID(int=number)) for number in (1, 2, 3))
LONG_S = 60.0


@dataclass
class Work:
    """What goes on, by tenant; each piece goes on until it is told to end."""

    shares: FairShares
    under_way: list[TenantId] = field(default_factory=list)
    ends: list[tuple[TenantId, asyncio.Event]] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def begin(self, tenant: TenantId, count: int = 1) -> None:
        self.tasks += [asyncio.create_task(self._piece(tenant)) for _ in range(count)]
        await settled()

    async def end(self, tenant: TenantId, count: int = 1) -> None:
        for one in [one for one in self.ends if one[0] == tenant][:count]:
            self.ends.remove(one)
            one[1].set()
        await settled()

    async def _piece(self, tenant: TenantId) -> None:
        with await self.shares.take(tenant):
            self.under_way.append(tenant)
            end = asyncio.Event()
            self.ends.append((tenant, end))
            try:
                await end.wait()
            finally:
                self.under_way.remove(tenant)

    def count(self, tenant: TenantId) -> int:
        return self.under_way.count(tenant)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.fixture
async def make_work() -> AsyncIterator[Callable[..., Work]]:
    made: list[Work] = []

    def make(longest_s: float = LONG_S, patience_s: float = LONG_S, active_s: float = LONG_S) -> Work:
        made.append(Work(FairShares(patience_s, longest_s, active_s)))
        return made[-1]

    yield make
    tasks = [task for each in made for task in each.tasks]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def work(make_work: Callable[..., Work]) -> Work:
    return make_work()


async def test_who_sends_alone_has_all_of_it(work: Work) -> None:
    await work.begin(HOT, 100)
    assert work.count(HOT) == AT_ONCE


async def test_another_is_let_in_at_once_and_has_an_equal_part(work: Work) -> None:
    await work.begin(HOT, 100)
    await work.begin(CALM, 100)
    assert work.count(CALM) == AT_ONCE // 2
    await work.end(HOT, AT_ONCE // 2)
    assert work.count(HOT) == AT_ONCE // 2
    await work.end(HOT)
    assert work.count(HOT) == AT_ONCE // 2


async def test_requests_of_a_tenant_go_in_the_order_in_which_they_came(work: Work) -> None:
    went: list[int] = []

    async def pass_through(number: int) -> None:
        with await work.shares.take(HOT):
            went.append(number)

    await work.begin(HOT, AT_ONCE)
    waiting = [asyncio.create_task(pass_through(number)) for number in range(20)]
    await settled()
    await work.end(HOT)
    await asyncio.gather(*waiting)
    assert went == list(range(20))


async def test_the_part_of_who_sends_no_more_is_the_others_again(make_work: Callable[..., Work]) -> None:
    work = make_work(active_s=0.2)
    await work.begin(CALM)
    await work.end(CALM)
    await work.begin(HOT, 100)
    assert work.count(HOT) == AT_ONCE // 2
    await asyncio.sleep(0.25)
    await work.begin(HOT)
    assert work.count(HOT) == AT_ONCE


async def test_however_many_send_each_goes_on(work: Work) -> None:
    for number in range(100):
        await work.begin(TenantId(UUID(int=1000 + number)))
    await work.begin(HOT, 10)
    assert work.count(HOT) == 1


async def test_who_waits_for_somebody_else_gives_its_turn_to_the_next(make_work: Callable[..., Work]) -> None:
    work = make_work(longest_s=0.1)
    await work.begin(HOT, AT_ONCE + 1)
    assert work.count(HOT) == AT_ONCE
    async with asyncio.timeout(5):
        while work.count(HOT) == AT_ONCE:
            await asyncio.sleep(0.01)
    await work.end(HOT, AT_ONCE + 1)
    await work.begin(HOT, 100)
    assert work.count(HOT) == AT_ONCE  # what ended by the clock and then by itself was given back once


async def test_whose_patience_ends_is_told_so(make_work: Callable[..., Work]) -> None:
    work = make_work(patience_s=0.01)
    await work.begin(HOT, AT_ONCE)
    with pytest.raises(Transient, match="your tenant sends more") as told:
        await work.shares.take(HOT)
    assert told.value.code == "timeout"
    await work.end(HOT, 1)
    await work.begin(HOT)
    assert work.count(HOT) == AT_ONCE


async def test_whoever_is_admitted_has_a_turn_as_long_as_it_is_answered() -> None:
    row = next(row for row in OPERATIONS if row.permission is Access.PUBLIC)
    nothing = cast(Any, None)
    front = Front(nothing, nothing, nothing, nothing, FairShares(LONG_S, LONG_S), 1, 1, OpenStreams(1))
    turns = [(await front.admit(row, Presented(None)))[1] for _ in range(AT_ONCE)]
    another = asyncio.create_task(front.admit(row, Presented(None)))
    await settled()
    assert not another.done()
    with turns[0]:
        pass
    async with asyncio.timeout(5):
        await another


async def test_who_is_refused_by_its_rate_leaves_its_turn() -> None:
    class Empty:
        async def take(self, *_: object) -> None:
            raise Transient("too fast", 1.0, RATE_LIMITED)

    row = next(row for row in OPERATIONS if row.permission is Access.JOIN_TOKEN)
    nothing = cast(Any, None)
    front = Front(
        nothing, nothing, cast(Any, Empty()), nothing, FairShares(0.01, LONG_S), 1, 1, OpenStreams(1)
    )
    for _ in range(AT_ONCE + 1):
        with pytest.raises(Transient, match="too fast"):
            await front.admit(row, Presented(None))


@pytest.mark.parametrize("steps", range(4))
async def test_who_is_given_up_leaves_its_turn_to_the_next(work: Work, steps: int) -> None:
    """Also where it is given up in the moment in which its turn comes."""
    await work.begin(HOT, AT_ONCE)
    await work.begin(HOT, 2)
    work.ends.pop(0)[1].set()
    for _ in range(steps):
        await asyncio.sleep(0)
    work.tasks[AT_ONCE].cancel()
    await settled()
    assert work.count(HOT) == AT_ONCE
    assert not work.tasks[AT_ONCE + 1].done()

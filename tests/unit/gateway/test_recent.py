"""What was just shown is shown again, but for a change that was told, one that was not told for a second, and other eyes."""

import asyncio
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import NotFound
from services.gateway.api.base import Done
from services.gateway.feed import Feed, View
from services.gateway.recent import FRESH_S, Recent
from shared.clock import SystemClock
from shared.ids import TenantId

TENANT = TenantId(UUID(int=1))
VIEW: View = (TENANT, frozenset())


class Bus:
    async def hint(self, hint: object, tenant: object) -> None:
        """Nobody else listens."""


class Steady(SystemClock):
    """Stands until it is moved."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Loader:
    """Counts its loads, each another object."""

    def __init__(self) -> None:
        self.loads = 0

    async def load(self) -> Done:
        self.loads += 1
        return Done()


@pytest.fixture
def feed() -> Feed:
    return Feed(cast(Any, Bus()))


async def test_it_is_loaded_again_for_a_change_a_second_or_other_eyes(feed: Feed) -> None:
    clock, loader = Steady(), Loader()
    recent = Recent(feed, clock)

    async def loads(view: View = VIEW) -> int:
        await recent.get(view, "experiment", "31", loader.load)
        return loader.loads

    assert [await loads(), await loads()] == [1, 1]
    await feed.changed(TENANT, 7)
    assert [await loads(), await loads()] == [2, 2]
    await feed.changed(TenantId(UUID(int=2)), 7)
    assert await loads() == 2, "another tenant's change"
    clock.now_s += FRESH_S
    assert await loads() == 3
    assert await loads((TENANT, frozenset({("experiments", "a1")}))) == 4


async def test_a_change_while_it_is_loaded_has_it_loaded_again(feed: Feed) -> None:
    recent, loader, going = Recent(feed, Steady()), Loader(), asyncio.Event()

    async def slow() -> Done:
        await going.wait()
        return await loader.load()

    first = asyncio.create_task(recent.get(VIEW, "experiment", "31", slow))
    await asyncio.sleep(0)
    await feed.changed(TENANT, 7)
    going.set()
    await first
    await recent.get(VIEW, "experiment", "31", slow)
    assert loader.loads == 2


async def test_what_is_not_found_is_looked_for_each_time(feed: Feed) -> None:
    recent, tries = Recent(feed, Steady()), 0

    async def nothing() -> Done:
        nonlocal tries
        tries += 1
        raise NotFound("experiment 31")

    for _ in range(2):
        with pytest.raises(NotFound):
            await recent.get(VIEW, "experiment", "31", nothing)
    assert tries == 2

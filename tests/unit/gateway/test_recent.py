"""What was just shown is shown again, but for a change of it that was told, one that was not told for a second, and other eyes."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import NotFound
from services.gateway.api.base import Resource
from services.gateway.core.changes import MOST, Changes
from services.gateway.live.feed import Feed, View
from services.gateway.remembered.recent import FRESH_S, Recent
from shared.clock import SystemClock
from shared.ids import TenantId
from shared.messages.base import Hint

TENANT, ONE, OTHER = TenantId(UUID(int=1)), UUID(int=31), UUID(int=32)
VIEW: View = (TENANT, frozenset())


class Bus:
    async def hint(self, hint: object, tenant: object) -> None:
        """Nobody else listens."""


class Steady(SystemClock):
    """Stands until it is moved."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class One(Resource):
    """Something that is shown."""

    id: UUID


class Loader:
    """Counts its loads, each another object of the same experiment."""

    def __init__(self) -> None:
        self.loads = 0

    async def load(self) -> One:
        self.loads += 1
        return One(id=ONE)


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
    await feed.changed(TENANT, 8, {OTHER})
    await feed.changed(TENANT, 9, ())
    assert await loads() == 2, "changes of others"
    await feed.changed(TENANT, 10, {OTHER, ONE})
    assert [await loads(), await loads()] == [3, 3]
    clock.now_s += FRESH_S
    assert await loads() == 4
    assert await loads((TENANT, frozenset({("experiments", "a1")}))) == 5


async def test_a_change_while_it_is_loaded_has_it_loaded_again(feed: Feed) -> None:
    recent, loader, going = Recent(feed, Steady()), Loader(), asyncio.Event()

    async def slow() -> One:
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

    async def nothing() -> One:
        nonlocal tries
        tries += 1
        raise NotFound("experiment 31")

    for _ in range(2):
        with pytest.raises(NotFound):
            await recent.get(VIEW, "experiment", "31", nothing)
    assert tries == 2


async def test_what_is_remembered_is_written_once_and_anew_when_it_has_changed(feed: Feed) -> None:
    recent, loader, written = Recent(feed, Steady()), Loader(), []

    def write(resource: One) -> int:
        written.append(resource)
        return len(written)

    async def ask() -> int:
        return recent.form(await recent.get(VIEW, "experiment", "31", loader.load), "json", write)

    assert [await ask(), await ask()] == [1, 1]
    await feed.changed(TENANT, 7)
    assert [await ask(), await ask()] == [2, 2]
    assert [recent.form(One(id=ONE), "json", write) for _ in range(2)] == [3, 4], "nothing remembered"


async def test_what_other_replicas_say_changed_is_loaded_again(feed: Feed) -> None:
    recent, loader = Recent(feed, Steady()), Loader()
    heard = []
    for about in (None, (ONE,), (OTHER,), ()):
        await recent.get(VIEW, "experiment", "31", loader.load)
        before = loader.loads
        told = Hint(entity="feed", id=TENANT, cursor=1, about=about).to_bytes()
        await feed._on_hint(SimpleNamespace(data=told))
        await recent.get(VIEW, "experiment", "31", loader.load)
        heard.append(loader.loads > before)
    assert heard == [True, True, False, False]


def test_changes_that_are_forgotten_count_for_all() -> None:
    changes = Changes()
    changes.note([ONE])
    mark = changes.mark
    assert not changes.since(mark, ONE) and not changes.since(mark, OTHER)
    changes.note([OTHER])
    assert changes.since(mark, OTHER) and not changes.since(mark, ONE)
    for number in range(MOST):
        changes.note([UUID(int=1000 + number)])
    assert changes.since(mark, ONE) and changes.since(mark, UUID(int=7))
    assert not changes.since(changes.mark, OTHER)


async def test_many_who_ask_at_once_load_it_once_unless_it_has_changed_since(feed: Feed) -> None:
    recent, loader, may_end = Recent(feed, Steady()), Loader(), asyncio.Event()

    async def load() -> One:
        found = await loader.load()
        await may_end.wait()
        return found

    before = [asyncio.create_task(recent.get(VIEW, "experiment", "31", load)) for _ in range(3)]
    await asyncio.sleep(0)
    await feed.changed(TENANT, 7, {ONE})
    after = asyncio.create_task(recent.get(VIEW, "experiment", "31", load))
    await asyncio.sleep(0)
    may_end.set()
    shown = await asyncio.gather(*before, after)
    assert loader.loads == 2 and shown[0] is shown[1] is shown[2] is not shown[3]
    assert await recent.get(VIEW, "experiment", "31", load) is shown[3], "the newest is remembered"

"""Tails of feeds: however many streams follow, each event is read once and told to all, in order."""

import asyncio
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast
from uuid import UUID

import pytest

from muster.errors import Transient
from services.gateway.events.schema import Event, EventKind
from services.gateway.platform.events.feed import Feed, View
from services.gateway.platform.events.shared_readers import (
    MAX_HELD_ITEMS,
    PositionedItem,
    Tail,
    TailPage,
    Tails,
    Waiting,
)
from shared.ids import TenantId
from tests.support.virtual_time import in_virtual_time

TENANT = TenantId(UUID(int=1))
KEY: View = (TENANT, frozenset())
SLOW_S = 60.0


class Bus:
    async def hint(self, hint: object, tenant: object) -> None:
        """Nobody else listens."""


class Table:
    """A feed of `count` events, read in batches; counts how often."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.reads = 0
        self.is_away = False

    async def read(self, after: int) -> TailPage[int, Event]:
        self.reads += 1
        if self.is_away:
            raise Transient("the database is away")
        items = [PositionedItem(position, event(position)) for position in range(after + 1, self.count + 1)][
            :100
        ]
        return TailPage(items, items[-1].position if items else after, is_last=len(items) < 100)


def event(position: int) -> Event:
    return Event(
        id=str(position), time=datetime(2026, 1, 1, tzinfo=UTC), kind=EventKind.TRIAL, change="changed",
        entity=UUID(int=position), version=1, resource={},
    )  # fmt: skip


def changes_of(feed: Feed) -> Waiting:
    return partial(feed.waiting_on, TENANT)


@pytest.fixture
def feed() -> Feed:
    return Feed(cast(Any, Bus()))


async def read_until(tail: Tail[int, Event], position: int, until: int) -> list[int]:
    seen: list[int] = []
    async with asyncio.timeout(5):
        while position < until:
            await tail.wait_beyond(position)
            seen += [items.position for items in tail.since(position)]
            position = tail.end
    return seen


async def test_a_thousand_streams_read_what_one_would(feed: Feed) -> None:
    tails, table = Tails(SLOW_S), Table()
    with ExitStack() as streams:
        opened = [
            streams.enter_context(tails.following(KEY, 0, table.read, changes_of(feed))) for _ in range(1000)
        ]
        waiting = [asyncio.create_task(read_until(tail, 0, 3)) for tail in opened]
        await asyncio.sleep(0)
        table.count = 3
        await feed.changed(TENANT, 3)
        assert [await one for one in waiting] == [[1, 2, 3]] * 1000
        assert table.reads <= 3


async def test_who_sees_other_things_of_a_tenant_has_another_tail(feed: Feed) -> None:
    tails, whole, narrowed = Tails(SLOW_S), Table(2), Table(1)
    other: View = (TENANT, frozenset({("experiments", "a1")}))
    with (
        tails.following(KEY, 0, whole.read, changes_of(feed)) as one,
        tails.following(other, 0, narrowed.read, changes_of(feed)) as two,
    ):
        assert await read_until(one, 0, 2) == [1, 2] and await read_until(two, 0, 1) == [1]


async def test_a_tail_holds_so_many_and_says_from_where(feed: Feed) -> None:
    tails, table = Tails(SLOW_S), Table(MAX_HELD_ITEMS + 150)
    with tails.following(KEY, 0, table.read, changes_of(feed)) as tail:
        assert len(await read_until(tail, 0, table.count)) >= MAX_HELD_ITEMS
        assert tail.begin == 150
        assert [items.position for items in tail.since(150)] == list(range(151, table.count + 1))


async def test_what_reading_fails_with_is_raised_to_all_and_the_next_stream_reads_anew(feed: Feed) -> None:
    tails, table = Tails(SLOW_S), Table()
    with (
        tails.following(KEY, 0, table.read, changes_of(feed)) as one,
        tails.following(KEY, 0, table.read, changes_of(feed)) as two,
    ):
        table.is_away = True
        await asyncio.sleep(0)
        await feed.changed(TENANT, 1)
        for tail in (one, two):
            with pytest.raises(Transient, match="away"):
                await tail.wait_beyond(0)
        table.is_away, table.count = False, 1
        with tails.following(KEY, 0, table.read, changes_of(feed)) as three:
            assert await read_until(three, 0, 1) == [1]


@in_virtual_time
async def test_nobody_reads_once_the_last_stream_is_gone(feed: Feed) -> None:
    tails, table = Tails(1.0), Table()
    with tails.following(KEY, 0, table.read, changes_of(feed)):
        await asyncio.sleep(10)
    reads = table.reads
    assert reads > 5
    await asyncio.sleep(20)
    assert table.reads == reads


async def test_streams_are_sent_away_when_the_gateway_goes_down(feed: Feed) -> None:
    tails, table = Tails(SLOW_S), Table()
    with tails.following(KEY, 0, table.read, changes_of(feed)) as tail:
        await asyncio.sleep(0)
        feed.end()
        with pytest.raises(Transient) as raised:
            await tail.wait_beyond(0)
    assert raised.value.code == "restarting"


async def test_who_follows_what_is_over_hears_the_rest_and_that_no_more_comes(feed: Feed) -> None:
    async def read(after: int) -> TailPage[int, Event]:
        items = [PositionedItem(1, event(1))] if not after else []
        return TailPage(items, 1, is_last=True, is_over=bool(after))

    with Tails(0.001).following(KEY, 0, read, changes_of(feed)) as tail:
        assert await tail.wait_beyond(0) and [items.position for items in tail.since(0)] == [1]
        assert not await tail.wait_beyond(1)

"""Looks beside the loop: the first is waited for, later ones are not, and an old one is shown no more."""

import asyncio
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting
from services.provisioner.drivers.background_listing import ALL_EVERY, EVERY, MAX_AGE, PollingDriver
from shared.errors import Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import an_intent

ONE = {WorkerId("w-1"): Sighting(Presence.RUNNING, "i-1")}


class Cloud:
    """Shows what it is told to, when it is let."""

    name, most_per_intent, lateness, terminates_orphans = "cloud", 5, timedelta(seconds=90), True

    def __init__(self) -> None:
        self.shows: Mapping[WorkerId, Sighting] | Exception = ONE
        self.let = asyncio.Event()
        self.let.set()
        self.looks = 0
        self.asked: list[Collection[IntentId] | None] = []

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        return Launched({one.worker: "i-2" for one in intent.instances})

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        self.looks += 1
        self.asked.append(awaited)
        await self.let.wait()
        if isinstance(self.shows, Exception):
            raise self.shows
        return self.shows

    def watch(self, notify: Any) -> None:
        pass


class Time:
    at = 0.0

    def monotonic(self) -> float:
        return self.at

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def passes(self, time: timedelta) -> None:
        self.at += time.total_seconds()


async def _quiet() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def launched(looking: PollingDriver, intent: Intent) -> Collection[WorkerId]:
    return (await looking.launch(intent, {})).placed


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def looking(cloud: Cloud, time: Time) -> PollingDriver:
    return PollingDriver(cloud, time)  # type: ignore[arg-type]


async def test_only_the_first_look_is_waited_for(looking: PollingDriver, cloud: Cloud, time: Time) -> None:
    assert await looking.observe() == ONE
    time.passes(EVERY)
    cloud.let.clear()
    cloud.shows = {}
    assert await looking.observe() == ONE
    assert await looking.observe() == ONE
    cloud.let.set()
    await _quiet()
    assert (await looking.observe(), cloud.looks) == ({}, 2), "one at a time, and not sooner than asked for"


async def test_who_was_launched_is_looked_for_alone_until_seen(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    await looking.observe()
    intent = an_intent()
    (two,) = await launched(looking, intent)
    for shows in ({}, {two: Sighting(Presence.RUNNING, "i-2")}, {}):
        cloud.shows = shows
        time.passes(EVERY)
        await looking.observe()
        await _quiet()
        if shows:
            assert (await looking.observe()).keys() == {*ONE, two}, "nobody else is gone for that"
    assert cloud.asked == [None, {intent.id}, {intent.id}, None]


async def test_all_are_looked_at_while_some_do_not_come(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    await looking.observe()
    intent = an_intent()
    await launched(looking, intent)
    cloud.shows = {}
    for pause in (EVERY, ALL_EVERY, EVERY):
        time.passes(pause)
        await looking.observe()
        await _quiet()
    assert cloud.asked == [None, {intent.id}, None, None]
    assert not await looking.observe(), "who is gone is told by a look at all"


async def test_what_is_new_is_told_and_what_is_not_is_not(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    called_at: list[float] = []
    looking.watch(lambda: called_at.append(time.at))
    for shows in (ONE, ONE, {}, Transient("away"), Transient("away"), {}):
        cloud.shows = shows
        time.passes(EVERY)
        await looking.observe()
        await _quiet()
    assert called_at == [1.0, 3.0, 4.0, 6.0]


async def test_a_look_that_is_too_old_is_shown_no_more(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    await looking.observe()
    cloud.let.clear()
    time.passes(MAX_AGE)
    assert await looking.observe() == ONE
    time.passes(EVERY)
    with pytest.raises(Transient, match="has not listed its machines"):
        await looking.observe()
    await looking.close()


async def test_a_provider_that_is_away_keeps_nobody_waiting(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    cloud.shows = Transient("away")
    with pytest.raises(Transient, match="away"):
        await looking.observe()
    cloud.let.clear()
    time.passes(EVERY)
    with pytest.raises(Transient, match="away"):
        await asyncio.wait_for(looking.observe(), 1)
    await looking.close()


async def test_a_fault_of_ours_is_not_kept_to_ourselves(
    looking: PollingDriver, cloud: Cloud, time: Time
) -> None:
    await looking.observe()
    cloud.shows = ValueError("a bug")
    time.passes(EVERY)
    await looking.observe()
    await _quiet()
    with pytest.raises(ValueError, match="a bug"):
        await looking.observe()


def test_what_is_seen_later_counts_as_late(looking: PollingDriver) -> None:
    assert looking.lateness == timedelta(seconds=90) + MAX_AGE

"""What an operator reads of an outage, and what a loop does in one."""

import asyncio
import contextlib
from datetime import timedelta

from shared.errors import Broken, Transient
from shared.runtime.loops import repeat
from shared.runtime.outages import Outages
from tests.support.log_capture import captured_events


async def test_an_outage_is_told_at_its_begin_and_at_its_end() -> None:
    outages = Outages(lease="leader")
    with captured_events() as events:
        for _ in range(3):
            outages.failed("renewing", TimeoutError())
        outages.failed("taking", Transient("Postgres is away"))
        outages.worked("renewing")
        outages.worked("renewing")
    began, other, ended = events
    assert (began["event"], began["of"], began["why"]) == ("an outage began", "renewing", "TimeoutError()")
    assert (other["of"], other["why"]) == ("taking", "Postgres is away")
    assert (ended["event"], ended["of"], ended["failures"]) == ("an outage ended", "renewing", 3)
    assert ended["lasted_s"] >= 0
    assert {line["lease"] for line in events} == {"leader"}


async def test_a_second_outage_is_told_again() -> None:
    outages = Outages()
    with captured_events() as events:
        for _ in range(2):
            outages.failed("publishing", "nobody takes it")
            outages.worked("publishing")
    assert [line["event"] for line in events] == ["an outage began", "an outage ended"] * 2


async def test_a_loop_outlives_what_its_step_meets_and_says_it_once() -> None:
    turns = iter(
        [Transient("away"), Transient("away"), None, ValueError("unforeseen"), Broken("again"), None]
    )
    over = asyncio.Event()

    async def step() -> None:
        error = next(turns, over)
        if error is over:
            over.set()
        elif isinstance(error, Exception):
            raise error

    with captured_events() as events:
        loop = asyncio.create_task(repeat(step, timedelta(0)))
        async with asyncio.timeout(10):
            await over.wait()
        loop.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await loop
    assert [line["event"] for line in events] == [
        "an outage began",
        "an outage ended",
        "a step failed",
        "an outage began",
        "an outage ended",
    ]


async def test_a_loop_pauses_no_longer_than_until_it_is_woken() -> None:
    turns, sooner = 0, asyncio.Event()

    async def step() -> None:
        nonlocal turns
        turns += 1
        if turns < 5:
            sooner.set()

    loop = asyncio.create_task(repeat(step, timedelta(days=1), sooner))
    async with asyncio.timeout(10):
        while turns < 5:
            await asyncio.sleep(0)
    loop.cancel()

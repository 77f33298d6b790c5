"""When a loop's step is done again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from shared.runtime.loops import repeat
from tests.support.virtual_time import in_virtual_time

HOUR, SOON = timedelta(hours=1), timedelta(milliseconds=20)
Step = Callable[[], Awaitable[timedelta | None]]


@asynccontextmanager
async def repeated(step: Step, every: timedelta, sooner: asyncio.Event | None = None) -> AsyncIterator[None]:
    loop = asyncio.create_task(repeat(step, every, sooner))
    try:
        yield
    finally:
        loop.cancel()
        with suppress(asyncio.CancelledError):
            await loop


@in_virtual_time
async def test_a_step_that_knows_when_it_is_due_is_done_again_then_and_not_before_the_pause_is_over() -> None:
    done: list[float] = []
    again = asyncio.Event()

    async def step() -> timedelta | None:
        done.append(asyncio.get_running_loop().time())
        if len(done) == 2:
            again.set()
        return SOON if len(done) == 1 else None

    async with repeated(step, HOUR):
        await asyncio.wait_for(again.wait(), 5)
        assert done[1] - done[0] == pytest.approx(SOON.total_seconds())
        await asyncio.sleep(HOUR.total_seconds() - 1)
    assert len(done) == 2, "without a word of when, the whole pause is kept"


@in_virtual_time
async def test_what_happens_cuts_a_long_pause_short() -> None:
    done: asyncio.Queue[None] = asyncio.Queue()
    sooner = asyncio.Event()

    async def step() -> None:
        done.put_nowait(None)

    async with repeated(step, HOUR, sooner):
        await asyncio.wait_for(done.get(), 5)
        sooner.set()
        await asyncio.wait_for(done.get(), 5)
        assert not sooner.is_set()


@in_virtual_time
async def test_loops_of_one_process_end_their_long_pauses_together() -> None:
    ended_at: dict[str, float] = {}
    both = asyncio.Event()

    def noted(name: str, begins_s: float) -> Step:
        async def step() -> None:
            if name not in ended_at:
                ended_at[name] = 0.0
                await asyncio.sleep(begins_s)
            elif not ended_at[name]:
                ended_at[name] = asyncio.get_running_loop().time()
                if all(ended_at.values()) and len(ended_at) == 2:
                    both.set()

        return step

    pause = timedelta(seconds=2.01)
    async with repeated(noted("one", 0.0), pause), repeated(noted("other", 0.3), pause):
        await asyncio.wait_for(both.wait(), 10)
    apart_s = abs(ended_at["one"] - ended_at["other"]) % 1.0
    assert min(apart_s, 1.0 - apart_s) < 1e-6

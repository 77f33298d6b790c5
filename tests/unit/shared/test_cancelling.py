"""Works side by side."""

import asyncio

import pytest

from shared.runtime.cancelling import raise_if_cancelled, run_all


async def test_the_first_failure_ends_the_others_and_whoever_waited_goes_on() -> None:
    ended = []

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("first")

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("work")

    with pytest.raises(ValueError, match="first"):
        await run_all(fail(), work(), work())
    assert ended == ["work", "work"]
    raise_if_cancelled()


async def test_a_cancelled_wait_ends_all() -> None:
    started, ended = asyncio.Event(), []

    async def work() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("work")

    waiting = asyncio.create_task(run_all(work(), work()))
    await started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["work", "work"]

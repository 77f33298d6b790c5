"""A leader's term: its jobs end together, in order, whoever of them is first."""

import asyncio

import pytest

from shared.database.leases import run_term
from shared.errors import Conflict


async def test_every_job_finishes_what_it_has_in_hand_once_the_lease_has_ended() -> None:
    ended, over, finished = asyncio.Event(), asyncio.Event(), list[str]()

    async def job(name: str) -> None:
        await over.wait()
        await asyncio.sleep(0)
        finished.append(name)

    term = asyncio.create_task(run_term([job("cycle"), job("events")], ended, over))
    await asyncio.sleep(0)
    assert not finished
    ended.set()
    await term
    assert sorted(finished) == ["cycle", "events"]


async def test_the_failure_of_one_job_ends_the_others_and_is_raised() -> None:
    ended, over, finished = asyncio.Event(), asyncio.Event(), list[str]()

    async def fails() -> None:
        raise Conflict("not_leader", "the lease has passed to another")

    async def finishes() -> None:
        await over.wait()
        finished.append("events")
        ended.set()

    with pytest.raises(Conflict):
        await run_term([fails(), finishes()], ended, over)
    assert finished == ["events"]


async def test_a_job_that_returns_by_itself_ends_the_term() -> None:
    ended, over = asyncio.Event(), asyncio.Event()

    async def returns() -> None:
        return

    async def waits() -> None:
        await over.wait()
        ended.set()

    await run_term([returns(), waits()], ended, over)
    assert over.is_set()

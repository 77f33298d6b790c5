"""The scheduler is asked once for a run's facts, and again, at most once a second, for a worker that is no member yet."""

import asyncio
from typing import Any, cast
from uuid import UUID

import pytest

from services.registry.runs.reporting_workers import ASK_AGAIN_S, AskedFacts
from shared.clock import SystemClock
from shared.errors import NotFound, Rejected, Transient
from shared.ids import RunId, WorkerId
from shared.messages.runs import AllocationFacts

RUN = RunId(UUID(int=1))
FIRST, SECOND = WorkerId("first"), WorkerId("second")


class StoppedClock(SystemClock):
    """Stands still until it is moved."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


class Scheduler:
    """Knows the members of one run; none: not even the run."""

    def __init__(self, *members: WorkerId) -> None:
        self.members = members
        self.asked = 0

    async def ask(self, *_: object) -> AllocationFacts:
        self.asked += 1
        await asyncio.sleep(0)
        if not self.members:
            raise NotFound("run")
        fields: dict[str, Any] = {"members": self.members}
        return AllocationFacts.model_construct(**fields)


def facts_of(scheduler: Scheduler) -> tuple[AskedFacts, StoppedClock]:
    clock = StoppedClock()
    return AskedFacts(cast(Any, scheduler), clock), clock


async def test_batches_of_a_new_run_ask_once() -> None:
    scheduler = Scheduler(FIRST, SECOND)
    facts, clock = facts_of(scheduler)
    await asyncio.gather(*(facts.of(RUN, FIRST) for _ in range(3)))
    clock.now_s = 1e6
    await facts.of(RUN, SECOND)
    assert scheduler.asked == 1


async def test_a_worker_that_joined_later_is_found() -> None:
    scheduler = Scheduler(FIRST)
    facts, clock = facts_of(scheduler)
    await facts.of(RUN, FIRST)
    scheduler.members = (FIRST, SECOND)
    assert SECOND in (await facts.of(RUN, SECOND)).members
    clock.now_s = 1e6
    await facts.of(RUN, SECOND)
    assert scheduler.asked == 2


async def test_a_worker_that_is_no_member_is_refused_and_asked_for_once_a_second() -> None:
    scheduler = Scheduler(FIRST)
    facts, clock = facts_of(scheduler)
    await facts.of(RUN, FIRST)
    for _ in range(3):
        with pytest.raises(Rejected, match="second"):
            await facts.of(RUN, SECOND)
    assert scheduler.asked == 2
    clock.now_s = ASK_AGAIN_S
    with pytest.raises(Rejected):
        await facts.of(RUN, SECOND)
    assert scheduler.asked == 3


async def test_a_run_that_the_scheduler_does_not_know_yet_is_asked_for_again() -> None:
    scheduler = Scheduler()
    facts, _ = facts_of(scheduler)
    with pytest.raises(Transient):
        await facts.of(RUN, FIRST)
    scheduler.members = (FIRST,)
    assert FIRST in (await facts.of(RUN, FIRST)).members

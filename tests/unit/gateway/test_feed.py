"""Who waits for a change here is served first, and is handed its own answer."""

import asyncio
from typing import Any, cast
from uuid import UUID

from services.gateway.platform.events.feed import Feed, Waiter
from shared.ids import DEFAULT_TENANT, ExperimentId
from shared.messages.queue import RequestRanked

OPERATION, OTHER, EXPERIMENT = UUID(int=1), UUID(int=2), ExperimentId(UUID(int=3))


class Bus:
    """Notes when the other replicas are told."""

    def __init__(self, happened: list[str]) -> None:
        self._happened = happened

    async def hint(self, hint: object, tenant: object) -> None:
        self._happened.append("others were told")


def answer(operation: UUID) -> RequestRanked:
    return RequestRanked(experiment_id=EXPERIMENT, version=2, operation_id=operation, priority=7, weight=1.0)


async def test_an_answer_is_handed_to_who_waits_for_its_operation_and_to_nobody_else() -> None:
    feed = Feed(cast(Any, Bus([])))
    about = (frozenset({EXPERIMENT, OPERATION}), frozenset({EXPERIMENT, OTHER}), None)
    with (
        feed.waiting(DEFAULT_TENANT, about[0]) as mine,
        feed.waiting(DEFAULT_TENANT, about[1]) as anothers,
        feed.waiting(DEFAULT_TENANT, about[2]) as stream,
    ):
        told = answer(OPERATION)
        await feed.answered(DEFAULT_TENANT, {OPERATION: told})
        assert (mine.answer, anothers.answer, stream.answer) == (told, None, None)


async def test_who_waits_here_goes_on_before_other_replicas_are_told() -> None:
    happened: list[str] = []
    feed = Feed(cast(Any, Bus(happened)))

    async def wait(waiter: Waiter) -> None:
        await waiter.wait(5)
        happened.append("who waited went on")

    with feed.waiting(DEFAULT_TENANT, frozenset({EXPERIMENT})) as waiter:
        waiting = asyncio.create_task(wait(waiter))
        await asyncio.sleep(0)
        await feed.changed(DEFAULT_TENANT, 1, {EXPERIMENT})
        await waiting
    assert happened == ["who waited went on", "others were told"]

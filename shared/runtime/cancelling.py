"""A cancellation that a library lost is found again here.

Before Python 3.12 `asyncio.wait_for`, which nats-py uses, returns a result that was ready when the task was cancelled, and
forgets the cancellation: a loop would then go on for ever, and its process never end.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

AGAIN_S = 2.0
"""How long a cancelled task may take to tidy up before it is taken for one that lost its cancellation."""


def raise_if_cancelled() -> None:
    """Raise CancelledError where the current task was cancelled and is still running."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def run_all(*works: Coroutine[Any, Any, None]) -> None:
    """Run all to their end; the first failure ends the others, and is raised.

    A TaskGroup of Python 3.11 leaves its own task counted as cancelled when a member fails, so that `raise_if_cancelled` would end what
    goes on after the failure.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await wait_until_ended(tasks)


async def wait_until_ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait until cancelled tasks have ended, cancelling again those that stay: one lost its cancellation, the next finds it."""
    staying = set(tasks)
    while staying:
        _, staying = await asyncio.wait(staying, timeout=AGAIN_S)
        for task in staying:
            task.cancel()

"""Recovers cancellations that a library has swallowed.

Before Python 3.12, `asyncio.wait_for`, which nats-py uses, returns a result that was ready when the task was cancelled and drops the
cancellation: the loop would continue forever, and the process would never end.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

AGAIN_S = 2.0
"""How long a cancelled task may take to clean up before it is assumed to have lost its cancellation."""


def raise_if_cancelled() -> None:
    """Raise CancelledError if the current task was cancelled and still runs."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def run_all(*works: Coroutine[Any, Any, None]) -> None:
    """Run all coroutines to their end; the first failure cancels the others and is raised.

    A TaskGroup of Python 3.11 leaves its own task marked as cancelled when a member fails, so that `raise_if_cancelled` would end what follows
    the failure.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await wait_until_ended(tasks)


async def wait_until_ended(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Wait until cancelled tasks have ended, and cancel those again that lost their cancellation."""
    staying = set(tasks)
    while staying:
        _, staying = await asyncio.wait(staying, timeout=AGAIN_S)
        for task in staying:
            task.cancel()

"""A cancellation that a library lost is found again here.

Before Python 3.12 `asyncio.wait_for`, which nats-py uses, returns a result that was ready when the task was cancelled, and
forgets the cancellation: a loop would then go on for ever, and its process never end.
"""

import asyncio


def leave_if_cancelled() -> None:
    """Raise CancelledError where the current task was cancelled and is still running."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError

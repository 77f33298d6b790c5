"""The loop runner: a step done again and again, whatever happens in it. Neighbours: the relay and each service's slow loops."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from shared.cancelling import leave_if_cancelled
from shared.errors import MusterError
from shared.outages import Outages

AGAIN = timedelta(seconds=5)
Step = Callable[[], Awaitable[None]]

_log = structlog.get_logger()


async def repeat(step: Step, every: timedelta, sooner: asyncio.Event | None = None) -> None:
    """Does a step, pauses, and so on until cancelled; a loop that ended by an error would end for good.

    Args:
        every: the pause after a step; after one that failed at most `AGAIN`.
        sooner: cuts the pause short when it is set, and is cleared.
    """
    name = getattr(step, "__qualname__", repr(step))
    outages = Outages()
    while True:
        pause = min(every, AGAIN)
        try:
            await step()
            outages.worked(name)
            pause = every
        except MusterError as error:
            outages.failed(name, error)
        except Exception:  # noqa: BLE001 - unforeseen: told each time, because it will not end by itself
            _log.exception("a step failed", step=name)
        leave_if_cancelled()
        await _pause(pause, sooner)


async def _pause(pause: timedelta, sooner: asyncio.Event | None) -> None:
    if sooner is None:
        await asyncio.sleep(pause.total_seconds())
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(pause.total_seconds()):
            await sooner.wait()
    sooner.clear()

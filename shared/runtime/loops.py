"""Runs a step periodically, whatever happens in it. Used by the relay and by each service's background loops."""

import asyncio
import contextlib
import math
import os
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from shared.errors import MusterError
from shared.runtime.cancelling import raise_if_cancelled
from shared.runtime.outages import Outages

AGAIN = timedelta(seconds=5)
_BEAT_S = 1.0
"""Longer pauses end at whole beats of the process, so that several loops wake it only once."""
_GOLDEN = 0.618
Step = Callable[[], Awaitable[timedelta | None]]

_log = structlog.get_logger()


async def repeat(step: Step, every: timedelta, sooner: asyncio.Event | None = None) -> None:
    """Run a step, pause, and repeat until cancelled. Errors of a step do not end the loop.

    Args:
        step: May return when it is due again, if that is sooner than `every`.
        every: Pause after a step, up to a second longer if it lasts several seconds; after a failed step at most `AGAIN`.
        sooner: Ends the pause early when it is set, and is cleared.
    """
    name = getattr(step, "__qualname__", repr(step))
    outages = Outages()
    while True:
        pause = min(every, AGAIN)
        try:
            due = await step()
            outages.worked(name)
            pause = every if due is None else min(due, every)
        except MusterError as error:
            outages.failed(name, error)
        except Exception:  # noqa: BLE001 - unexpected errors are logged each time, because they will not pass
            _log.exception("a step failed", step=name)
        raise_if_cancelled()
        await _pause(pause, sooner)


async def _pause(pause: timedelta, sooner: asyncio.Event | None) -> None:
    pause_s = _to_beat(pause.total_seconds(), asyncio.get_running_loop().time())
    if sooner is None:
        await asyncio.sleep(pause_s)
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(pause_s):
            await sooner.wait()
    sooner.clear()


def _to_beat(pause_s: float, now_s: float) -> float:
    """Extend a pause so that it ends together with those of other loops; short pauses stay as they are.

    The phase depends on the process id, so that processes do not all wake at the same moment.
    """
    if pause_s <= 2 * _BEAT_S:
        return pause_s
    phase_s = os.getpid() * _GOLDEN % 1.0
    end_s = now_s + pause_s - phase_s
    return pause_s + math.ceil(end_s / _BEAT_S) * _BEAT_S - end_s

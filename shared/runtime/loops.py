"""The loop runner: a step done again and again, whatever happens in it. Neighbours: the relay and each service's slow loops."""

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
"""Longer pauses end at whole beats of the process: what several loops do then costs one waking up."""
_GOLDEN = 0.618
Step = Callable[[], Awaitable[timedelta | None]]

_log = structlog.get_logger()


async def repeat(step: Step, every: timedelta, sooner: asyncio.Event | None = None) -> None:
    """Does a step, pauses, and so on until cancelled; a loop that ended by an error would end for good.

    Args:
        step: may return after how long it is due again where that is sooner than `every`.
        every: the pause after a step, longer by up to a second where it lasts several; after one that failed at most `AGAIN`.
        sooner: cuts the pause short when it is set, and is cleared.
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
        except Exception:  # noqa: BLE001 - unforeseen: told each time, because it will not end by itself
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
    """The pause, longer so that it ends with those of other loops; a short one as it is. Processes differ by their numbers: they need
    not all wake at the same moment."""
    if pause_s <= 2 * _BEAT_S:
        return pause_s
    phase_s = os.getpid() * _GOLDEN % 1.0
    ends_s = now_s + pause_s - phase_s
    return pause_s + math.ceil(ends_s / _BEAT_S) * _BEAT_S - ends_s

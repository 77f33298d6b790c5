"""The one way in which tests wait."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from nats.js.errors import NotFoundError

TIMEOUT_S = 60.0
"""The end of waiting where something is certain to come: far beyond what it takes on a busy machine, and free where it comes."""

Claim = Callable[[], object | Awaitable[object]]


async def eventually(claim: Claim, timeout_s: float = TIMEOUT_S, every_s: float = 0.05) -> None:
    """Returns once the claim holds; fails with the claim's name when it does not in time.

    A claim about something that is not there yet (IndexError, KeyError, a message not yet in its stream) does not
    hold yet.
    """
    now_s = asyncio.get_running_loop().time
    end_s = now_s() + timeout_s
    while not await _holds(claim):
        if now_s() > end_s:
            raise AssertionError(
                f"{getattr(claim, '__qualname__', claim)} did not hold within {timeout_s:g} s"
            )
        await asyncio.sleep(every_s)


async def _holds(claim: Claim) -> bool:
    try:
        found = claim()
        return bool(await found if inspect.isawaitable(found) else found)
    except (LookupError, NotFoundError):
        return False

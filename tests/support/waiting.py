"""The one way in which tests wait."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable


async def eventually(
    claim: Callable[[], bool | Awaitable[bool]], timeout_s: float = 10.0, every_s: float = 0.05
) -> None:
    """Returns once the claim holds; fails with the claim's name when it does not in time."""
    end = time.monotonic() + timeout_s
    while True:
        found = claim()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return
        if time.monotonic() > end:
            raise AssertionError(
                f"{getattr(claim, '__qualname__', claim)} did not hold within {timeout_s:g} s"
            )
        await asyncio.sleep(every_s)

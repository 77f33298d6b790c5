"""How long a stream waits: for an owner that is busy or away, and for what is still on its way once the thing that it is of has ended."""

import asyncio
from typing import TypeVar

from pydantic import BaseModel

from muster.errors import Transient
from services.gateway.platform.call import Call
from shared.messages.base import Query

R = TypeVar("R", bound=BaseModel)

_LAST_S = 6.0
_ATTEMPTS = 6
_AGAIN_S = 1.0


async def ask_with_retries(call: Call, question: Query[R]) -> R:
    """The owner's answer, asked again for half a minute: a stream that ended would be taken up at once, and have read anew what it had told, by an owner without the time for less.

    Raises:
        Transient: There was none by then.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)
        except Transient:
            await asyncio.sleep(_AGAIN_S)
    return await call.doors.bus.ask(question, call.tenant, call.doors.timeouts.query_s)


class FinalDataTimeout:
    """Of one stream: how long the last of something that has ended is waited for, should the registry not say that all is there."""

    def __init__(self, call: Call) -> None:
        self._clock = call.doors.clock
        self._since_s: float | None = None

    def is_over(self, final: bool) -> bool:
        """Whether it has ended, and long enough ago; said at each look."""
        if final and self._since_s is None:
            self._since_s = self._clock.monotonic()
        return self._since_s is not None and self._clock.monotonic() - self._since_s > _LAST_S

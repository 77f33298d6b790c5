"""Timeouts of streams: for an owner that does not answer, and for the last data of a trial that has ended."""

import asyncio
from typing import TypeVar

from pydantic import BaseModel

from muster.errors import Transient
from services.gateway.platform.call_context import Call
from shared.messages.base import Query

R = TypeVar("R", bound=BaseModel)

_LAST_S = 6.0
_ATTEMPTS = 6
_AGAIN_S = 1.0


async def ask_with_retries(call: Call, question: Query[R]) -> R:
    """Ask the owner, with retries for about half a minute.

    If the stream ended instead, the client would reconnect at once and make a busy owner read everything again.

    Raises:
        Transient: the owner has not answered by then.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)
        except Transient:
            await asyncio.sleep(_AGAIN_S)
    return await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.query_s)


class FinalDataTimeout:
    """Limits how long a stream waits for the last data of something that has ended, if the registry does not report that all of it is stored."""

    def __init__(self, call: Call) -> None:
        self._clock = call.dependencies.clock
        self._since_s: float | None = None

    def has_expired(self, final: bool) -> bool:
        """Return True once `final` has been true for the timeout. Call it at each read."""
        if final and self._since_s is None:
            self._since_s = self._clock.monotonic()
        return self._since_s is not None and self._clock.monotonic() - self._since_s > _LAST_S

"""Subscriptions that the server took away are asked for again.

When permissions change, or come later than the connection, the server ends a subscription and says so once, as an error of the connection.
nats-py passes that on and leaves it there: what waits for acknowledgements, messages or answers would be deaf until the next reconnect.
"""

import asyncio

from nats.aio.client import Client
from nats.errors import Error as NatsError

from shared.runtime.outages import Outages

_HEARING = "hearing what is subscribed to"
_REFUSED = "permissions violation for subscription"
_AGAIN_S = 1.0
_FLUSH_S = 2.0


class Resubscriber:
    """Of one connection; told of each of its errors."""

    def __init__(self, client: Client, outages: Outages) -> None:
        self._client = client
        self._outages = outages
        self._refusals = 0
        self._renewing: asyncio.Task[None] | None = None

    def takes(self, error: Exception) -> bool:
        """Whether the error is a subscription's end; it is then renewed until the server keeps it."""
        if _REFUSED not in str(error).lower():
            return False
        self._outages.failed(_HEARING, error)
        self._refusals += 1
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())
        return True

    def close(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()

    async def _renew(self) -> None:
        refusals = -1
        while refusals != self._refusals:
            await asyncio.sleep(_AGAIN_S)
            refusals = self._refusals
            try:
                await self._subscribe_again()
            except (NatsError, OSError, TimeoutError):
                refusals = -1
        self._outages.worked(_HEARING)

    async def _subscribe_again(self) -> None:
        """All of them: the server ignores one that it has. What it refuses it has said before it answers the flush."""
        for subscription in list(self._client._subs.values()):
            await self._client._send_subscribe(subscription)
        await self._client.flush(timeout=_FLUSH_S)  # type: ignore[arg-type]  # nats-py waits fractions as well

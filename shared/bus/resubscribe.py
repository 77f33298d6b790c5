"""Renews subscriptions that the server has ended.

When permissions change, or arrive later than the connection, the server ends a subscription and reports this once, as a connection error.
nats-py only forwards the error: without renewal, acknowledgements, messages and answers would not arrive until the next reconnect.
"""

import asyncio

from nats.aio.client import Client
from nats.errors import Error as NatsError

from shared.runtime.outages import Outages

_SUBSCRIBING = "receiving subscribed messages"
_REFUSED = "permissions violation for subscription"
_AGAIN_S = 1.0
_FLUSH_S = 2.0


class Resubscriber:
    """Renews the subscriptions of one connection; it must receive each of its errors."""

    def __init__(self, client: Client, outages: Outages) -> None:
        self._client = client
        self._outages = outages
        self._refusals = 0
        self._renewing: asyncio.Task[None] | None = None

    def takes(self, error: Exception) -> bool:
        """Return whether the error ends a subscription; if so, start renewing until the server accepts it."""
        if _REFUSED not in str(error).lower():
            return False
        self._outages.failed(_SUBSCRIBING, error)
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
        self._outages.worked(_SUBSCRIBING)

    async def _subscribe_again(self) -> None:
        """Renew all subscriptions: the server ignores those that it has. It reports rejections before it answers the flush."""
        for subscription in list(self._client._subs.values()):
            await self._client._send_subscribe(subscription)
        await self._client.flush(timeout=_FLUSH_S)  # type: ignore[arg-type]  # nats-py accepts fractions

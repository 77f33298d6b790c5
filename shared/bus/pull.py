"""A durable pull consumer that keeps a request outstanding: renewed before it is used up, and sent again after a reconnect.

A further request is sent while a batch is handled, so that the next batch is ready afterwards: under load, a server takes as long to answer as a
batch takes to handle.

nats-py's `fetch` waits for a full batch or its deadline, and does not resend requests after a reconnect.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Sequence

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from shared.bus.streams import WAIT_FOR_BUS_KEEPER, filters_of
from shared.errors import Transient
from shared.runtime.outages import Outages

CONSUMING = "consuming"
"""Name of the outage while nothing can be fetched; it ends with the next message from the server."""
_BATCH = 256
_AHEAD = _BATCH
"""Request more if at most this many messages are buffered or requested while a batch is handled."""
_EXPIRES_S = 60.0
_HEARTBEAT_S = 4.0
_SILENT_S = 2 * _HEARTBEAT_S
_LOOK_AGAIN_S = 0.25
_IN_PROGRESS_EVERY_S = 1.5
_EXPIRED, _UNSERVED = "408", "Nats-Pending-Messages"
_CONTROL = {"100", "404", "408", "409", "503"}


class Pull:
    """Messages of one durable consumer, in batches of those that have arrived."""

    def __init__(
        self,
        client: Client,
        jetstream: JetStreamContext,
        stream: str,
        durable: str,
        filters: Sequence[str],
        outages: Outages,
    ) -> None:
        self._client = client
        self._jetstream = jetstream
        self._stream = stream
        self._durable = durable
        self._filters = set(filters)
        self._outages = outages
        self._arrived: deque[Msg] = deque()
        self._taken: list[Msg] = []
        self._something = asyncio.Event()
        self._handed_out = asyncio.Event()
        self._woken = False
        self._lost = False
        self._outstanding = 0
        self._last_activity_s = 0.0
        self._inbox = client.new_inbox()

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator["Pull"]:
        """Subscribe; messages that arrived and were not taken are returned at the end, so that another replica gets them at once."""
        subscription: Subscription = await self._client.subscribe(self._inbox, cb=self._receive)
        try:
            yield self
        finally:
            with contextlib.suppress(NatsError):
                await subscription.unsubscribe()
                for message in self._rest(len(self._arrived)):
                    await message.nak()

    async def next_batch(self) -> list[Msg]:
        """Wait for at least one message and return all that have arrived, in stream order; empty when woken.

        Raises:
            Transient: NATS or the consumer is unavailable; call again.
        """
        self._taken = []
        while not self._arrived and not self._woken:
            await self._keep_requesting()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SILENT_S):
                    await self._something.wait()
            self._something.clear()
        await self._ask_ahead()
        self._taken = self._rest(_BATCH)
        self._handed_out.set()
        return self._taken

    def wake(self) -> None:
        """Interrupt a waiting `next_batch`."""
        self._woken = True
        self._something.set()

    async def check(self) -> None:
        """Check that the durable consumer exists and receives all that this version of the service handles.

        Raises:
            Transient: It does not yet; call again.
        """
        name = f"the consumer {self._durable} of the stream {self._stream}"
        try:
            found = await self._jetstream.consumer_info(self._stream, self._durable)
        except NotFoundError as error:
            raise Transient(f"{name} does not exist; {WAIT_FOR_BUS_KEEPER}", _LOOK_AGAIN_S) from error
        except (TimeoutError, OSError, NatsError) as error:
            raise Transient(f"JetStream does not respond for consumer {self._durable}: {error!r}") from error
        missing = self._filters - filters_of(found.config)
        if missing:
            raise Transient(
                f"{name} does not receive {', '.join(sorted(missing))}; upgrade the bus keeper, which extends it",
                _LOOK_AGAIN_S,
            )

    def ask_again(self) -> None:
        """Reset after a reconnect: the server has dropped outstanding requests."""
        self._outstanding = 0
        self._something.set()

    async def extend_ack_deadline(self) -> None:
        """Extend the acknowledgement deadline of a batch that takes long; the server would deliver it again otherwise."""
        while True:
            await self._handed_out.wait()
            self._handed_out.clear()
            while self._taken:
                before = {id(message) for message in self._in_hand()}
                await asyncio.sleep(_IN_PROGRESS_EVERY_S)
                with contextlib.suppress(NatsError):
                    for message in self._in_hand():
                        if id(message) in before:
                            await message.in_progress()

    def _in_hand(self) -> list[Msg]:
        return [*self._taken, *self._arrived]

    def _rest(self, most: int) -> list[Msg]:
        return [self._arrived.popleft() for _ in range(min(most, len(self._arrived)))]

    async def _ask_ahead(self) -> None:
        """Request messages for after the current batch; if that fails, `_keep_requesting` retries later."""
        left = max(0, len(self._arrived) - _BATCH) + self._outstanding
        if left <= _AHEAD and not self._lost and not self._woken:
            with contextlib.suppress(NatsError):
                await self._ask()

    async def _keep_requesting(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._outstanding > _BATCH // 2 and now - self._last_activity_s < _SILENT_S:
            return
        if self._lost or (self._outstanding and now - self._last_activity_s >= _SILENT_S):
            # Rejected, or no heartbeat: the server, the stream or the consumer was lost.
            await self.check()
            self._lost, self._outstanding = False, 0
        try:
            await self._ask()
        except NatsError as error:
            raise Transient(
                f"the pull request of consumer {self._durable} could not be sent: {error!r}"
            ) from error

    async def _ask(self) -> None:
        request = {
            "batch": _BATCH,
            "expires": int(_EXPIRES_S * 1e9),
            "idle_heartbeat": int(_HEARTBEAT_S * 1e9),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._durable}"
        await self._client.publish(subject, orjson.dumps(request), reply=self._inbox)
        self._outstanding += _BATCH
        self._last_activity_s = asyncio.get_running_loop().time()

    async def _receive(self, message: Msg) -> None:
        self._last_activity_s = asyncio.get_running_loop().time()
        self._outages.worked(CONSUMING)
        headers = message.headers or {}
        status = headers.get("Status")
        if status is None:
            if not message.reply:
                return  # not from a stream: it cannot be acknowledged
            self._outstanding -= 1
            self._arrived.append(message)
            self._something.set()
        elif status == _EXPIRED:
            # Subtract only this request's share: otherwise one more request would be sent each time, and all would be kept.
            # Wake, to send a new request at once if none is left.
            self._outstanding = max(0, self._outstanding - int(headers.get(_UNSERVED, _BATCH)))
            self._lost = False
            self._something.set()
        elif status in _CONTROL and status != "100":
            # Rejected: the next check sends a new request.
            self._outstanding = 0
            self._lost = status == "503" or "Deleted" in str(message.headers)
            if self._lost:
                self._something.set()

"""The delivery loop: fetch a batch, split it by tenant, run one transaction each with inbox, handlers and outbox, then acknowledge.

Effects happen once because the inbox row is committed with them. If a batch fails, its messages are handled one by one; those that cannot
be handled go to the dead-letter stream with the error.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

import structlog
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import ValidationError

from shared.bus import streams
from shared.bus.connection import Bus
from shared.bus.dead_letters import dead_letter
from shared.bus.delivery_batches import ReceivedMessage, by_tenant, filter_of, is_final, reason_of, span_of
from shared.bus.envelope import Delivery, Envelope
from shared.bus.inbox import Inbox
from shared.bus.poison_messages import MAX_STARTS, PoisonMessages
from shared.bus.pull import CONSUMING, Pull
from shared.bus.units import Unit, Units
from shared.errors import MusterError, Rejected, Transient
from shared.ids import TenantId
from shared.messages.base import Command, Event
from shared.runtime import faults
from shared.runtime.cancelling import raise_if_cancelled
from shared.runtime.outages import Outages
from shared.telemetry import metrics

AFTER_INBOX = faults.register("consumer.after_inbox")
AFTER_HANDLERS = faults.register("consumer.after_handlers")
BEFORE_ACK = faults.register("consumer.before_ack")

Handler = Callable[[Unit, list[Delivery[Any]]], Awaitable[None]]
Handlers = Mapping[type[Event] | type[Command], Handler]

R = TypeVar("R")

_HANDLING = "handling"
_MAX_FAILURES = 8
_ALONE_FROM_DELIVERY = 3
_UNKNOWN_ATTEMPTS = 20
_UNKNOWN_DELAY_S = 3.0
_POSTGRES_POLL_S = 0.25
_MAX_DELAY_S = 5.0
_FAILED_PAUSE_S = 1.0
_log = structlog.get_logger()


class Consumer:
    """Feeds a service's handlers from its durable consumer on one stream; replicas share it.

    Args:
        service: Name of the durable consumer, and of the consumer in the inbox.
        handlers: Handlers by message type, of one stream only (events or commands).
    """

    def __init__(
        self,
        bus: Bus,
        units: Units,
        service: str,
        handlers: Handlers,
        schema: str | None = None,
    ) -> None:
        self._bus = bus
        self._units = units
        self._service = service
        self._handlers = {message.TYPE: (message, handler) for message, handler in handlers.items()}
        filters = [filter_of(message) for message in handlers]
        self._stream = streams.stream_of(filters[0])
        self._outages = Outages(consumer=f"{self._stream.name}.{service}")
        self._pull = Pull(bus.client, bus.jetstream, self._stream.name, service, filters, self._outages)
        self._inbox = Inbox(service, schema or service)
        self._poison = PoisonMessages(units, service, schema or service)
        self._stopping = asyncio.Event()
        self._fetching: asyncio.Timeout | None = None
        self._failures: Counter[UUID] = Counter()

    async def run(self, stopping: asyncio.Event) -> None:
        """Consume until `stopping` is set; the current batch is finished, and nothing more is fetched."""
        self._stopping = stopping
        self._bus.on_reconnect.append(self._pull.ask_again)
        background = [
            asyncio.create_task(self._wake_on_stop()),
            asyncio.create_task(self._pull.extend_ack_deadline()),
        ]
        try:
            async with self._pull.opened():
                while not stopping.is_set() and not await self._with_retries(self._ready):
                    pass
                while not stopping.is_set():
                    await self._with_retries(self._step)
        finally:
            for task in background:
                task.cancel()
            self._bus.on_reconnect.remove(self._pull.ask_again)

    async def _wake_on_stop(self) -> None:
        """Interrupt waiting for NATS when the process stops, even if the server is unavailable."""
        await self._stopping.wait()
        self._pull.wake()
        if self._fetching is not None:
            self._fetching.reschedule(asyncio.get_running_loop().time())

    async def _with_retries(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Run a step and return whether it succeeded; no failure ends the loop."""
        done = False
        try:
            await step()
            done = True
        except Transient as error:
            self._outages.failed(CONSUMING, error)
            await self._rest(error.retry_after_s)
        except Exception:  # noqa: BLE001 - the loop outlives any one step
            _log.exception("consuming failed", service=self._service)
            await self._rest(_FAILED_PAUSE_S)
        raise_if_cancelled()
        return done

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    async def _unless_stopping(self, work: Callable[[], Awaitable[R]]) -> R | None:
        """Await NATS; return None if the process stops first."""
        if self._stopping.is_set():
            return None
        try:
            async with asyncio.timeout(None) as self._fetching:
                return await work()
        except TimeoutError:
            return None
        finally:
            self._fetching = None

    async def _ready(self) -> None:
        await self._unless_stopping(self._pull.check)

    async def _step(self) -> None:
        batch = await self._unless_stopping(self._pull.next_batch)
        if not batch:
            return
        arrived = [found for message in batch if (found := await self._read(message)) is not None]
        metrics.consumer_lag(f"{self._stream.name}.{self._service}", batch[-1].metadata.num_pending)
        for tenant, group in by_tenant(arrived):
            await self._deliver(tenant, group)

    async def _read(self, message: Msg) -> ReceivedMessage | None:
        """Parse a message; one that cannot be parsed becomes a dead letter at once."""
        attempts = message.metadata.num_delivered
        try:
            envelope = Envelope.from_headers(message.headers or {})
            known = self._handlers.get(envelope.type)
            if known is None and attempts <= _UNKNOWN_ATTEMPTS:
                # A newer replica handles more types: leave the message to it.
                await message.nak(delay=_UNKNOWN_DELAY_S)
                return None
            if known is None:
                raise Rejected("unknown_type", f"this service has no handler for {envelope.type}")
            return ReceivedMessage(message, Delivery(known[0].from_bytes(message.data), envelope), attempts)
        except (MusterError, ValidationError) as error:
            await self._bury(message, f"the message cannot be parsed: {reason_of(error)}")
            return None

    async def _deliver(self, tenant: TenantId, group: Sequence[ReceivedMessage]) -> None:
        """Handle the group in one transaction. If that fails, and for messages that were delivered often, handle each alone."""
        fresh = [found for found in group if found.attempts < _ALONE_FROM_DELIVERY]
        if fresh and not await self._attempt(tenant, fresh):
            for found in fresh:
                await self._attempt(tenant, [found])
        for found in group:
            if found.attempts >= _ALONE_FROM_DELIVERY:
                await self._attempt_poison(tenant, found)

    async def _attempt_poison(self, tenant: TenantId, found: ReceivedMessage) -> None:
        """Handle a possible poison message alone, under a mark that remains if handling kills the process."""
        envelope = found.delivery.envelope
        try:
            mark = await self._poison.begin(tenant, envelope.id)
        except Transient as error:
            await self._delay([found], error)
            return
        if mark is None:
            await self._give_up(found, f"handling it killed {MAX_STARTS} processes")
            return
        await self._attempt(tenant, [found], mark)

    async def _attempt(
        self, tenant: TenantId, group: Sequence[ReceivedMessage], mark: str | None = None
    ) -> bool:
        """Run transactions until one commits or the group is delayed or given up. False: nothing happened, handle each alone."""
        names = ",".join(sorted({found.delivery.envelope.type for found in group}))
        while True:
            try:
                with span_of(names, group), metrics.observed(self._service, names):
                    await self._handle(tenant, group, mark)
                break
            except Transient as error:
                self._outages.failed(_HANDLING, error)
                if await self._postgres_recovered():
                    continue
                await self._unmark(tenant, group, mark)
                await self._delay(group, error)
                return True
            except Exception as error:  # noqa: BLE001 - a handler may fail in any way
                if len(group) > 1:
                    return False
                await self._unmark(tenant, group, mark)
                await self._fail(group[0], error)
                return True
        self._outages.worked(_HANDLING)
        for found in group:
            self._failures.pop(found.delivery.envelope.id, None)
        faults.point(BEFORE_ACK)
        with contextlib.suppress(NatsError):  # a lost ack means a redelivery, which the inbox absorbs
            for found in group:
                await found.raw.ack()
        return True

    async def _postgres_recovered(self) -> bool:
        """Wait until Postgres is available again. False: it is available, so the problem lies elsewhere, or the process stops."""
        if await self._units.reachable():
            return False
        while not self._stopping.is_set():
            await self._rest(_POSTGRES_POLL_S)
            if await self._units.reachable():
                return True
        return False

    async def _handle(self, tenant: TenantId, group: Sequence[ReceivedMessage], mark: str | None) -> None:
        async with self._units.tenant(tenant) as unit:
            fresh = await self._inbox.take(unit, tenant, group)
            faults.point(AFTER_INBOX)
            for kind, (_, handler) in self._handlers.items():
                batch = [delivery for delivery in fresh if delivery.envelope.type == kind]
                if batch:
                    await handler(unit, batch)
            if mark is not None:
                first = group[0].delivery.envelope.id
                await self._poison.end_within(unit.connection, tenant, first, [mark])
            faults.point(AFTER_HANDLERS)

    async def _unmark(self, tenant: TenantId, group: Sequence[ReceivedMessage], mark: str | None) -> None:
        """Remove the mark after a failure that did not kill the process. If that cannot be stored, the mark counts against the message."""
        if mark is not None:
            with contextlib.suppress(Transient):
                await self._poison.end(tenant, group[0].delivery.envelope.id, [mark])

    async def _delay(self, group: Sequence[ReceivedMessage], error: Transient) -> None:
        with contextlib.suppress(NatsError):
            for found in group:
                delay_s = min(error.retry_after_s * 1.5 ** min(found.attempts - 1, 10), _MAX_DELAY_S)
                await found.raw.nak(delay=max(delay_s, error.retry_after_s))

    async def _fail(self, found: ReceivedMessage, error: Exception) -> None:
        """Retry with increasing delays, then give up. A final error gives up at once."""
        kind = found.delivery.envelope.type
        self._failures[found.delivery.envelope.id] += 1
        failures = self._failures[found.delivery.envelope.id]
        if failures >= _MAX_FAILURES or is_final(error):
            _log.error("a message could not be handled", type=kind, error=repr(error))
            await self._give_up(found, reason_of(error))
            return
        _log.error("handling failed", service=self._service, type=kind, exc_info=error)
        with contextlib.suppress(NatsError):
            await found.raw.nak(delay=min(0.2 * 2**failures, 30.0))

    async def _give_up(self, found: ReceivedMessage, why: str) -> None:
        """Turn the message into a dead letter; until that is stored, it stays in the stream."""
        envelope = found.delivery.envelope
        try:
            if found.attempts >= _ALONE_FROM_DELIVERY:
                await self._poison.clear(envelope.tenant, envelope.id)
            await self._bury(found.raw, why)
            self._failures.pop(envelope.id, None)
        except Transient as error:
            await self._delay([found], error)

    async def _bury(self, message: Msg, why: str) -> None:
        headers = dead_letter(message, self._service, why)
        await self._bus.store_dead_letter(f"dlq.v1.{self._service}", message.data, headers)
        metrics.dead_letter(self._service)
        with contextlib.suppress(NatsError):
            await message.term()

"""The delivery loop: fetch a batch, split it by tenant, one transaction each with inbox, handlers and outbox, then acknowledge.

Effects happen once because the inbox row is committed with them. A failing batch is taken apart and tried message by message; what
cannot be handled goes to the dead-letter stream with its error.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from pydantic import ValidationError
from sqlalchemy import text

from shared import faults, telemetry
from shared.bus import streams
from shared.bus.connection import Bus
from shared.bus.envelope import Delivery, Envelope
from shared.bus.pull import Pull
from shared.bus.units import Unit, Units
from shared.cancelling import leave_if_cancelled
from shared.errors import MusterError, Transient, meaning_of
from shared.ids import TenantId
from shared.messages.base import Command, Event
from shared.telemetry import metrics

AFTER_INBOX = faults.register("consumer.after_inbox")
AFTER_HANDLERS = faults.register("consumer.after_handlers")
BEFORE_ACK = faults.register("consumer.before_ack")

Handler = Callable[[Unit, list[Delivery[Any]]], Awaitable[None]]
Handlers = Mapping[type[Event] | type[Command], Handler]

_MAX_ATTEMPTS = 8
_ALONE_FROM_DELIVERY = 3
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Arrived:
    """A message with what acknowledges it."""

    raw: Msg
    delivery: Delivery[Any]
    attempts: int


class Consumer:
    """Feeds a service's handlers from its durable consumer on one stream; replicas share it.

    Args:
        service: the durable's name, and its name in the inbox.
        handlers: by message type; one stream's types only (events, or commands).
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
        filters = [_filter(message) for message in handlers]
        self._stream = streams.stream_of(filters[0])
        self._pull = Pull(bus.client, bus.jetstream, self._stream.name, service, filters)
        self._insert = text(
            f"INSERT INTO {schema or service}.inbox (tenant, consumer, message_id)"
            " SELECT :tenant, :consumer, unnest(CAST(:ids AS uuid[])) ON CONFLICT DO NOTHING RETURNING message_id"
        )

    async def run(self, stopping: asyncio.Event) -> None:
        """Consumes until `stopping` is set; the batch in hand is finished first, nothing more is fetched."""
        self._bus.on_reconnect.append(self._pull.ask_again)
        waker = asyncio.create_task(self._wake_at(stopping))
        try:
            async with self._pull.opened():
                await self._patiently(self._ready)
                while not stopping.is_set():
                    await self._patiently(self._step)
        finally:
            waker.cancel()
            self._bus.on_reconnect.remove(self._pull.ask_again)

    async def _wake_at(self, stopping: asyncio.Event) -> None:
        await stopping.wait()
        self._pull.wake()

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Transient as error:
            _log.warning("consuming was put off", service=self._service, error=str(error))
            await asyncio.sleep(error.retry_after_s)
        leave_if_cancelled()

    async def _ready(self) -> None:
        await self._bus.ensure_streams()
        await self._pull.ensure()

    async def _step(self) -> None:
        batch = await self._pull.next_batch()
        if not batch:
            return
        arrived = [found for found in [await self._read(message) for message in batch] if found is not None]
        metrics.consumer_lag(f"{self._stream.name}.{self._service}", batch[-1].metadata.num_pending)
        for tenant, group in _by_tenant(arrived).items():
            await self._deliver(tenant, group)

    async def _read(self, message: Msg) -> _Arrived | None:
        """The typed message; what cannot be read is a dead letter at once."""
        try:
            envelope = Envelope.from_headers(message.headers or {})
            kind, _ = self._handlers[envelope.type]
            body = kind.from_bytes(message.data)
        except (MusterError, KeyError, ValidationError) as error:
            await self._bury(message, f"it cannot be read: {error!r}")
            return None
        attempts = message.metadata.num_delivered
        if attempts > _MAX_ATTEMPTS:
            await self._bury(message, f"it was delivered {attempts} times and never acknowledged")
            return None
        return _Arrived(message, Delivery(body, envelope), attempts)

    async def _deliver(self, tenant: TenantId, group: Sequence[_Arrived]) -> None:
        """Tries the group as one; when that fails, or one of it failed before, each alone."""
        suspects = [found for found in group if found.attempts >= _ALONE_FROM_DELIVERY]
        healthy = [found for found in group if found.attempts < _ALONE_FROM_DELIVERY]
        if healthy and not await self._attempt(tenant, healthy, last=len(healthy) == 1):
            suspects = [*healthy, *suspects] if len(healthy) > 1 else suspects
        for found in suspects:
            await self._attempt(tenant, [found], last=True)

    async def _attempt(self, tenant: TenantId, group: Sequence[_Arrived], *, last: bool) -> bool:
        """One transaction for the group. False: nothing happened, and unless `last` nothing was answered either."""
        names = ",".join(sorted({found.delivery.envelope.type for found in group}))
        try:
            with _span(names, group), metrics.observed(self._service, names):
                await self._handle(tenant, group)
        except Transient as error:
            _log.warning(
                "handling was put off",
                service=self._service,
                types=names,
                error=str(error),
            )
            await self._put_off(group, error.retry_after_s)
            return True
        except Exception as error:  # noqa: BLE001 - a handler may fail in any way
            if not last:
                return False
            await self._fail(group[0], error)
            return True
        faults.point(BEFORE_ACK)
        with contextlib.suppress(NatsError):  # an unheard ack means a redelivery, which the inbox absorbs
            for found in group:
                await found.raw.ack()
        return True

    async def _handle(self, tenant: TenantId, group: Sequence[_Arrived]) -> None:
        async with self._units.tenant(tenant) as unit:
            fresh = await self._first_seen(unit, tenant, group)
            faults.point(AFTER_INBOX)
            for kind, (_, handler) in self._handlers.items():
                batch = [
                    found.delivery
                    for found in group
                    if found.delivery.envelope.type == kind and found.delivery.envelope.id in fresh
                ]
                if batch:
                    await handler(unit, batch)
            faults.point(AFTER_HANDLERS)

    async def _first_seen(self, unit: Unit, tenant: TenantId, group: Sequence[_Arrived]) -> set[UUID]:
        ids = list({found.delivery.envelope.id for found in group})
        parameters = {"tenant": tenant, "consumer": self._service, "ids": ids}
        inserted = await unit.connection.execute(self._insert, parameters)
        return {row.message_id for row in inserted}

    async def _put_off(self, group: Sequence[_Arrived], delay_s: float) -> None:
        with contextlib.suppress(NatsError):
            for found in group:
                await found.raw.nak(delay=delay_s)

    async def _fail(self, found: _Arrived, error: Exception) -> None:
        """A refusal is final; anything else gets some more tries, spread out, before it is a dead letter."""
        final = isinstance(error, MusterError) and meaning_of(error).settlement == "dead_letter"
        if final or found.attempts >= _MAX_ATTEMPTS:
            _log.error(
                "a message could not be handled",
                type=found.delivery.envelope.type,
                error=repr(error),
            )
            await self._bury(found.raw, repr(error))
            return
        _log.exception("handling failed", service=self._service, type=found.delivery.envelope.type)
        with contextlib.suppress(NatsError):
            await found.raw.nak(delay=min(0.2 * 2**found.attempts, 30.0))

    async def _bury(self, message: Msg, why: str) -> None:
        headers = dict(message.headers or {})
        headers["Muster-Dead-Because"] = why.replace("\n", " ")[:2000]
        headers["Muster-Dead-Subject"] = message.subject
        headers.pop("Nats-Msg-Id", None)
        await self._bus.bury(f"dlq.v1.{self._service}", message.data, headers)
        await message.term()
        metrics.dead_letter(self._service)


def _span(names: str, group: Sequence[_Arrived]) -> AbstractContextManager[object]:
    """A single message goes on in its trace; a batch begins one that is linked to all of theirs."""
    traces = [found.delivery.envelope.trace for found in group]
    if len(traces) == 1:
        return telemetry.span(f"handle {names}", parent=traces[0])
    return telemetry.span(f"handle {names}", parent={}, links=traces, count=len(traces))


def _filter(message: type[Event] | type[Command]) -> str:
    return message.subject("*") if issubclass(message, Event) else message.subject()


def _by_tenant(arrived: Sequence[_Arrived]) -> dict[TenantId, list[_Arrived]]:
    groups: dict[TenantId, list[_Arrived]] = {}
    for found in arrived:
        groups.setdefault(found.delivery.envelope.tenant, []).append(found)
    return groups

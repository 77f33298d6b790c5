"""The unit of work: one transaction that holds state, inbox and outbox together, and what happens right after its commit."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

import orjson
import structlog
from sqlalchemy import literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from shared import telemetry
from shared.bus.envelope import Delivery, Envelope
from shared.clock import Clock
from shared.database.driver import AsyncpgDriver
from shared.database.engine import Database
from shared.errors import Broken, Rejected, Transient
from shared.ids import TenantId, derived_id, new_id
from shared.messages.base import Command, Event
from shared.runtime import faults

BEFORE_COMMIT = faults.register("unit.before_commit")
AFTER_COMMIT = faults.register("unit.after_commit")
_PROBE_S = 3.0
MAX_MESSAGE_BYTES = 1024 * 1024 - 16 * 1024
"""What the server takes, less the headers."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A message that was committed and waits to be published."""

    id: UUID
    tenant: TenantId
    subject: str
    headers: dict[str, str]
    payload: bytes
    entity: str | None = None


class Publisher(Protocol):
    """Takes over rows whose transaction has been committed."""

    def hand_over(self, rows: list[OutboxRow]) -> None: ...


class Unit:
    """What a handler works in: a transaction. Everything emitted is stored with the state, and published once it is committed."""

    def __init__(
        self, connection: AsyncConnection, tenant: TenantId | None, clock: Clock, schema: str
    ) -> None:
        self.connection = connection
        self.tenant = tenant
        self.now: datetime = clock.now()
        self._schema = schema
        self._clock = clock
        self._rows: list[OutboxRow] = []
        self._last: list[Callable[[Unit], Awaitable[None]]] = []
        self._then: list[Callable[[], Awaitable[None]]] = []
        self._emitted: Counter[UUID] = Counter()

    def emit(
        self,
        *messages: Event | Command,
        tenant: TenantId | None = None,
        cause: Delivery[Any] | None = None,
    ) -> None:
        """Puts messages into the outbox, in this order: all, or none where one is refused.

        Args:
            tenant: needed in a system unit only; `ids.SITE` for what belongs to no tenant.
            cause: the message that led to these; their ids then derive from its id.
        """
        whose = tenant or self.tenant
        if whose is None:
            raise Broken("a message was emitted without a tenant in a system transaction")
        self._rows += [self._row(message, whose, cause) for message in messages]

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """A part of the transaction that is whole or nothing: where it fails, what it wrote, emitted and left for later is undone, and the rest stands."""
        parts: tuple[list[Any], ...] = (self._rows, self._last, self._then)
        before, emitted = [len(part) for part in parts], self._emitted.copy()
        try:
            async with self.connection.begin_nested():
                yield
        except BaseException:
            for part, length in zip(parts, before, strict=True):
                del part[length:]
            self._emitted = emitted
            raise

    def at_end(self, action: "Callable[[Unit], Awaitable[None]]") -> None:
        """Runs within the transaction once all handlers of its batch have worked: what they have gathered is written together."""
        self._last.append(action)

    def then(self, action: Callable[[], Awaitable[None]]) -> None:
        """Runs after the commit; for fast paths only, because a crash in between forgets it."""
        self._then.append(action)

    def _row(self, message: Event | Command, tenant: TenantId, cause: Delivery[Any] | None) -> OutboxRow:
        envelope = Envelope(
            id=self._next_id(cause),
            type=message.TYPE,
            version=message.VERSION,
            tenant=tenant,
            correlation=_correlation(message, cause),
            causation=cause.envelope.id if cause else None,
            trace=_trace(cause),
        )
        subject = message.subject(tenant) if isinstance(message, Event) else message.subject()
        payload = message.to_bytes()
        if len(payload) > MAX_MESSAGE_BYTES:
            # Refused before the commit: the bus would never take it, and it would wait in the outbox for ever.
            raise Rejected(
                "message_too_large",
                f"{message.TYPE} has {len(payload)} bytes, more than the {MAX_MESSAGE_BYTES} that a message may have",
            )
        entity = message.whose_state if isinstance(message, Event) else None
        return OutboxRow(envelope.id, tenant, subject, envelope.to_headers(), payload, entity)

    def _next_id(self, cause: Delivery[Any] | None) -> UUID:
        if cause is None:
            return new_id(self._clock)
        self._emitted[cause.envelope.id] += 1
        # Named after the service too: two that answer one event must not give their messages the same id.
        return derived_id(cause.envelope.id, self._schema, self._emitted[cause.envelope.id])


class Units:
    """Opens units of work for one service.

    Args:
        first: the statement of ours that each unit of a tenant begins with (`Database.tenant`).
    """

    def __init__(
        self,
        database: Database,
        publisher: Publisher,
        schema: str,
        clock: Clock,
        first: Callable[[TenantId], str] = lambda _: "",
    ) -> None:
        self._first = first
        self._database = database
        self._publisher = publisher
        self._schema = schema
        self._clock = clock
        self._insert = (
            f"INSERT INTO {schema}.outbox (id, tenant, subject, headers, payload, entity)"
            " SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::bytea[], $6::text[])"
        )

    def beginning(self, first: Callable[[TenantId], str]) -> "Units":
        """Units of the same service, each of which begins with that statement of its tenant."""
        return Units(self._database, self._publisher, self._schema, self._clock, first)

    def tenant(
        self, tenant: TenantId, within: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Unit]:
        """Under row-level security of one tenant (`ids.SITE`: under the system role, for the site's own entities), as `Database.tenant`."""
        return self._open(self._database.tenant(tenant, within, self._first(tenant)), tenant)

    def system(self) -> AbstractAsyncContextManager[Unit]:
        """Over all tenants; each emitted message names its tenant."""
        return self._open(self._database.system(), None)

    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A look over all tenants that changes nothing."""
        return self._database.system()

    async def reachable(self) -> bool:
        """Whether Postgres answers now."""
        try:
            async with asyncio.timeout(_PROBE_S), self._database.system() as connection:
                await connection.execute(select(literal(1)))
        except (Transient, TimeoutError):
            return False
        return True

    @asynccontextmanager
    async def _open(
        self,
        transaction: AbstractAsyncContextManager[AsyncConnection],
        tenant: TenantId | None,
    ) -> AsyncIterator[Unit]:
        async with transaction as connection:
            unit = Unit(connection, tenant, self._clock, self._schema)
            yield unit
            for last in unit._last:
                await last(unit)
            await self._store(unit)
            faults.point(BEFORE_COMMIT)
        await self._committed(unit)

    async def _committed(self, unit: Unit) -> None:
        faults.point(AFTER_COMMIT)
        if unit._rows:
            self._publisher.hand_over(unit._rows)
        for action in unit._then:
            await _attempt(action)

    async def _store(self, unit: Unit) -> None:
        if unit._rows:
            await AsyncpgDriver.of(unit.connection).fetch(self._insert, *_columns(unit._rows))


def _columns(rows: list[OutboxRow]) -> tuple[object, ...]:
    return (
        [row.id for row in rows],
        [row.tenant for row in rows],
        [row.subject for row in rows],
        [orjson.dumps(row.headers).decode() for row in rows],
        [row.payload for row in rows],
        [row.entity for row in rows],
    )


def _correlation(message: Event | Command, cause: Delivery[Any] | None) -> UUID | None:
    experiment: UUID | None = getattr(message, "experiment_id", None)
    return experiment or (cause.envelope.correlation if cause else None)


def _trace(cause: Delivery[Any] | None) -> dict[str, str]:
    """The current span's, unless it handles a batch of several traces: then the cause's own."""
    headers: dict[str, str] = {}
    telemetry.inject(headers)
    if cause is None or telemetry.same_trace(headers, cause.envelope.trace):
        return headers
    return dict(cause.envelope.trace)


async def _attempt(action: Callable[[], Awaitable[None]]) -> None:
    try:
        await action()
    except Exception as error:  # noqa: BLE001 - the commit stands whatever happens here
        # The transaction stands: what this would have hastened comes by the guaranteed path.
        _log.warning("an action after a commit failed", error=repr(error))

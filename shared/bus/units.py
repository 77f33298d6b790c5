"""Units of work: one transaction for state, inbox and outbox, and actions after its commit."""

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
"""The server's limit, minus the headers."""
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A committed message that waits to be published."""

    id: UUID
    tenant: TenantId
    subject: str
    headers: dict[str, str]
    payload: bytes
    entity: str | None = None


class Publisher(Protocol):
    """Takes committed rows to publish."""

    def hand_over(self, rows: list[OutboxRow]) -> None: ...


class Unit:
    """Transaction of a handler. Emitted messages are stored with the state and published after the commit."""

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
        self._after_commit: list[Callable[[], Awaitable[None]]] = []
        self._emitted: Counter[UUID] = Counter()

    def emit(
        self,
        *messages: Event | Command,
        tenant: TenantId | None = None,
        cause: Delivery[Any] | None = None,
    ) -> None:
        """Add messages to the outbox in this order: all, or none if one is rejected.

        Args:
            tenant: Required in a system unit; `ids.SITE` for what belongs to no tenant.
            cause: The message that caused these; their ids derive from its id.
        """
        whose = tenant or self.tenant
        if whose is None:
            raise Broken("a message was emitted without a tenant in a system transaction")
        self._rows += [self._row(message, whose, cause) for message in messages]

    @asynccontextmanager
    async def attempt(self) -> AsyncIterator[None]:
        """A savepoint: if the block fails, what it wrote, emitted and scheduled is undone, and the rest of the transaction stays."""
        parts: tuple[list[Any], ...] = (self._rows, self._last, self._after_commit)
        before, emitted = [len(part) for part in parts], self._emitted.copy()
        try:
            async with self.connection.begin_nested():
                yield
        except BaseException:
            for part, length in zip(parts, before, strict=True):
                del part[length:]
            self._emitted = emitted
            raise

    def before_commit(self, action: "Callable[[Unit], Awaitable[None]]") -> None:
        """Run `action` within the transaction after all handlers of its batch, to write what they collected in one statement."""
        self._last.append(action)

    def after_commit(self, action: Callable[[], Awaitable[None]]) -> None:
        """Run `action` after the commit. For optimizations only: a crash in between loses it."""
        self._after_commit.append(action)

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
            # Rejected before the commit: the bus would never accept it, and it would stay in the outbox forever.
            raise Rejected(
                "message_too_large",
                f"{message.TYPE} has {len(payload)} bytes; a message may have at most {MAX_MESSAGE_BYTES}",
            )
        entity = message.whose_state if isinstance(message, Event) else None
        return OutboxRow(envelope.id, tenant, subject, envelope.to_headers(), payload, entity)

    def _next_id(self, cause: Delivery[Any] | None) -> UUID:
        if cause is None:
            return new_id(self._clock)
        self._emitted[cause.envelope.id] += 1
        # Includes the schema: two services that handle one event must not derive equal ids.
        return derived_id(cause.envelope.id, self._schema, self._emitted[cause.envelope.id])


class Units:
    """Opens units of work of one service.

    Args:
        first: Returns the first statement of each tenant unit (`Database.tenant`).
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

    def with_first_statement(self, first: Callable[[TenantId], str]) -> "Units":
        """Return units of the same service with another first statement."""
        return Units(self._database, self._publisher, self._schema, self._clock, first)

    def tenant(
        self, tenant: TenantId, within: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Unit]:
        """Open a unit under row-level security of one tenant, like `Database.tenant`. For `ids.SITE`: under the system role, for the site's entities."""
        return self._open(self._database.tenant(tenant, within, self._first(tenant)), tenant)

    def system(self) -> AbstractAsyncContextManager[Unit]:
        """Open a unit over all tenants; each emitted message names its tenant."""
        return self._open(self._database.system(), None)

    def system_connection(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """Return a connection over all tenants, for reads."""
        return self._database.system()

    async def reachable(self) -> bool:
        """Return whether Postgres responds now."""
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
        for action in unit._after_commit:
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
    """Return the current span's trace, or the cause's own if the span handles a batch of several traces."""
    headers: dict[str, str] = {}
    telemetry.inject(headers)
    if cause is None or telemetry.same_trace(headers, cause.envelope.trace):
        return headers
    return dict(cause.envelope.trace)


async def _attempt(action: Callable[[], Awaitable[None]]) -> None:
    try:
        await action()
    except Exception as error:  # noqa: BLE001 - the transaction is committed in any case
        # The transaction is committed: the guaranteed path delivers what this would have sped up.
        _log.warning("an action after a commit failed", error=repr(error))

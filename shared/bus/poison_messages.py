"""Poison messages: counts how often handling a message alone was started and never ended, in marks stored in the inbox.

JetStream's delivery count does not show this: it increases with every restart and outage, also for messages that only waited behind the
one that kills the process.
"""

from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.bus.units import Units
from shared.database.tables import tables_of
from shared.ids import TenantId

MAX_STARTS = 3


class PoisonMessages:
    """Marks of one consumer; each is an inbox row under its own consumer name."""

    def __init__(self, units: Units, service: str, schema: str) -> None:
        self._units = units
        self._marks = [f"{service} began {number}" for number in range(1, MAX_STARTS + 1)]
        self._inbox = tables_of(schema).inbox

    async def begin(self, tenant: TenantId, message_id: UUID) -> str | None:
        """Commit that the message is about to be handled alone, and return the mark to remove afterwards.

        None if handling was started too often without an end, so that it must not be retried. Raises Transient.
        """
        async with self._units.tenant(tenant) as unit:
            query = select(self._inbox.c.consumer).where(self._are(tenant, message_id, self._marks))
            taken = set(await unit.connection.scalars(query))
            free = [mark for mark in self._marks if mark not in taken]
            if not free:
                return None
            row = {"tenant": tenant, "consumer": free[0], "message_id": message_id}
            await unit.connection.execute(insert(self._inbox).values(row).on_conflict_do_nothing())
            return free[0]

    async def end(self, tenant: TenantId, message_id: UUID, marks: list[str]) -> None:
        """Remove marks in a separate transaction: the attempt failed without killing the process."""
        async with self._units.tenant(tenant) as unit:
            await self.end_within(unit.connection, tenant, message_id, marks)

    async def end_within(
        self, connection: AsyncConnection, tenant: TenantId, message_id: UUID, marks: list[str]
    ) -> None:
        """Remove marks in the transaction of the effect."""
        await connection.execute(delete(self._inbox).where(self._are(tenant, message_id, marks)))

    async def absolve(self, tenant: TenantId, message_id: UUID) -> None:
        """Remove all marks: the message is a dead letter now, and a replay starts from zero."""
        await self.end(tenant, message_id, self._marks)

    def _are(self, tenant: TenantId, message_id: UUID, marks: list[str]) -> ColumnElement[bool]:
        here = self._inbox.c
        return and_(here.tenant == tenant, here.message_id == message_id, here.consumer.in_(marks))

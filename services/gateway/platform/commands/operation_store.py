"""Operations that took longer than their request waited: remembered when it is answered, for a day."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.commands.tables import ordered
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

ORDERED = Cells(ordered, {})
"""By what operations are ordered. How far one is nobody has written down, so they are filtered where they are shown."""


async def insert_ordered(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """One that is there already, as its request came again, stays."""
    await connection.execute(upsert(ordered).values(**values).on_conflict_do_nothing())


async def load_ordered(connection: AsyncConnection, orderer: UUID, operation_id: UUID) -> Row[Any] | None:
    query = select(ordered).where(ordered.c.id == operation_id, ordered.c.orderer == orderer)
    return (await connection.execute(query)).one_or_none()


async def load_page(connection: AsyncConnection, orderer: UUID, wanted: ListQuery) -> RowPage:
    """Ids rise with time."""
    query = select(ordered).where(ordered.c.orderer == orderer)
    return await load_part(connection, query, ORDERED, wanted)


async def sweep(connection: AsyncConnection, now: datetime, kept: timedelta) -> None:
    """Deletes what is past its time, over all tenants."""
    await connection.execute(delete(ordered).where(ordered.c.created_at < now - kept))

"""Stores long operations for a day."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.commands.tables import long_operation
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

LONG_OPERATIONS = Cells(long_operation, {})
"""Columns that lists of operations sort by. Their state is not stored, so filters apply after loading."""


async def insert_long_operation(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert an operation, unless a repeated request finds it stored."""
    await connection.execute(upsert(long_operation).values(**values).on_conflict_do_nothing())


async def load_long_operation(
    connection: AsyncConnection, requester: UUID, operation_id: UUID
) -> Row[Any] | None:
    query = select(long_operation).where(
        long_operation.c.id == operation_id, long_operation.c.requester == requester
    )
    return (await connection.execute(query)).one_or_none()


async def load_page(connection: AsyncConnection, requester: UUID, wanted: ListQuery) -> RowPage:
    """Load a page of operations. Ids increase with time."""
    query = select(long_operation).where(long_operation.c.requester == requester)
    return await load_part(connection, query, LONG_OPERATIONS, wanted)


async def sweep(connection: AsyncConnection, now: datetime, kept: timedelta) -> None:
    """Delete expired operations of all tenants."""
    await connection.execute(delete(long_operation).where(long_operation.c.created_at < now - kept))

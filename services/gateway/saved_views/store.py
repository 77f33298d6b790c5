"""Stores saved views; each belongs to one user or token."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.saved_views.tables import saved_view


async def load_views(connection: AsyncConnection, owner: UUID) -> Sequence[Row[Any]]:
    """Load an owner's views by name."""
    return (
        await connection.execute(
            select(saved_view).where(saved_view.c.owner == owner).order_by(saved_view.c.name)
        )
    ).all()


async def save_view(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a view or replace the one of the same name."""
    statement = upsert(saved_view).values(**values)
    changed = {name: values[name] for name in ("address", "saved_at")}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["tenant", "owner", "name"], set_=changed)
    )


async def delete_view(connection: AsyncConnection, owner: UUID, name: str) -> Row[Any] | None:
    """Delete a view and return it; None if the owner has no view of that name."""
    mine = delete(saved_view).where(saved_view.c.owner == owner, saved_view.c.name == name)
    row: Row[Any] | None = (await connection.execute(mine.returning(saved_view))).one_or_none()
    return row

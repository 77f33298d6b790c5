"""Stores saved views; each belongs to one user or token."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.saved_views.tables import view


async def load_views(connection: AsyncConnection, person: UUID) -> Sequence[Row[Any]]:
    """Load a person's views by name."""
    return (await connection.execute(select(view).where(view.c.person == person).order_by(view.c.name))).all()


async def save_view(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a view or replace the one of the same name."""
    statement = upsert(view).values(**values)
    changed = {name: values[name] for name in ("address", "saved_at")}
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["tenant", "person", "name"], set_=changed)
    )


async def delete_view(connection: AsyncConnection, person: UUID, name: str) -> Row[Any] | None:
    """Delete a view and return it; None if the person has no view of that name."""
    mine = delete(view).where(view.c.person == person, view.c.name == name)
    row: Row[Any] | None = (await connection.execute(mine.returning(view))).one_or_none()
    return row

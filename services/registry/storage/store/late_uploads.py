"""Prefixes in the store below which uploads may still arrive until a time, and are deleted afterwards."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.storage_tables import pending_prefix_cleanups
from shared.database.statements import among

AT_ONCE = 1000


async def save_prefix_cleanups(
    connection: AsyncConnection, prefixes: Sequence[str], due_at: datetime
) -> None:
    """Have objects below these prefixes deleted after that time."""
    made = insert(pending_prefix_cleanups)
    known = made.on_conflict_do_update(index_elements=["prefix"], set_={"due_at": made.excluded.due_at})
    if prefixes:
        await connection.execute(known, [{"prefix": prefix, "due_at": due_at} for prefix in prefixes])


async def load_due_prefixes(connection: AsyncConnection, now: datetime) -> list[str]:
    """Return prefixes that are due."""
    due = (
        select(pending_prefix_cleanups.c.prefix).where(pending_prefix_cleanups.c.due_at <= now).limit(AT_ONCE)
    )
    return list(await connection.scalars(due))


async def save_swept(connection: AsyncConnection, prefixes: Sequence[str]) -> None:
    """Forget these prefixes: nothing more arrives below them."""
    await connection.execute(
        delete(pending_prefix_cleanups).where(among(pending_prefix_cleanups.c.prefix, prefixes))
    )

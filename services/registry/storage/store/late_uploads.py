"""Prefixes in the store below which uploads may still arrive until a time, and are deleted afterwards."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.storage_tables import litter
from shared.database.statements import among

AT_ONCE = 1000


async def save_litter(connection: AsyncConnection, prefixes: Sequence[str], due_at: datetime) -> None:
    """Have objects below these prefixes deleted after that time."""
    made = insert(litter)
    known = made.on_conflict_do_update(index_elements=["prefix"], set_={"due_at": made.excluded.due_at})
    if prefixes:
        await connection.execute(known, [{"prefix": prefix, "due_at": due_at} for prefix in prefixes])


async def load_litter(connection: AsyncConnection, now: datetime) -> list[str]:
    """Return prefixes that are due."""
    due = select(litter.c.prefix).where(litter.c.due_at <= now).limit(AT_ONCE)
    return list(await connection.scalars(due))


async def save_swept(connection: AsyncConnection, prefixes: Sequence[str]) -> None:
    """Forget these prefixes: nothing more arrives below them."""
    await connection.execute(delete(litter).where(among(litter.c.prefix, prefixes)))

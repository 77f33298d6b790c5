"""Stores single-use sign-in links. Look-ups run before the tenant is known."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.auth.store.session_tables import sign_in_link


async def insert_link(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    await connection.execute(insert(sign_in_link).values(**values))


async def find_link(connection: AsyncConnection, hashed: bytes) -> Row[Any] | None:
    """Load the link with this hash, used or not."""
    query = select(sign_in_link).where(sign_in_link.c.hash == hashed)
    return (await connection.execute(query)).one_or_none()


async def use_link(connection: AsyncConnection, link_id: UUID, now: datetime) -> bool:
    """Mark the link as used. Return False if it already is; of concurrent calls, one succeeds."""
    unused = (sign_in_link.c.id == link_id) & sign_in_link.c.used_at.is_(None)
    return (await connection.execute(update(sign_in_link).where(unused).values(used_at=now))).rowcount > 0


async def sweep(connection: AsyncConnection, now: datetime) -> None:
    """Delete expired links of all tenants."""
    await connection.execute(delete(sign_in_link).where(sign_in_link.c.expires_at < now))

"""Bytes that each tenant stores, and its limit.

Contents shared by checkpoints count once, from the commit that stored them until they are deleted. Each change is made in the
transaction of what it counts. A commit locks the row before the objects that it adds.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import storage


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """A tenant's bytes; `maximum_bytes` None: no limit."""

    used_bytes: int = 0
    maximum_bytes: int | None = None


async def load_stored(connection: AsyncConnection, tenant: UUID) -> StorageUsage:
    """Return the tenant's bytes and limit; zero and None without a row."""
    columns = storage.c.used_bytes, storage.c.maximum_bytes
    row = (await connection.execute(select(*columns).where(storage.c.tenant == tenant))).first()
    return StorageUsage(*row) if row else StorageUsage()


async def lock_stored(connection: AsyncConnection, tenant: UUID) -> StorageUsage:
    """Like `load_stored`, and lock the count until the end of the transaction."""
    await connection.execute(insert(storage).values(tenant=tenant).on_conflict_do_nothing())
    columns = storage.c.used_bytes, storage.c.maximum_bytes
    row = await connection.execute(select(*columns).where(storage.c.tenant == tenant).with_for_update())
    return StorageUsage(*row.one())


async def add_used(connection: AsyncConnection, tenant: UUID, more_bytes: int) -> None:
    """Add bytes to the count, or subtract negative ones."""
    if more_bytes == 0:
        return
    made = insert(storage).values(tenant=tenant, used_bytes=more_bytes)
    used = storage.c.used_bytes + more_bytes
    await connection.execute(made.on_conflict_do_update(index_elements=["tenant"], set_={"used_bytes": used}))


async def save_maximum(
    connection: AsyncConnection, tenant: UUID, maximum_bytes: int | None, version: int
) -> None:
    """Set the tenant's limit; an older version than the stored one changes nothing."""
    await connection.execute(insert(storage).values(tenant=tenant).on_conflict_do_nothing())
    newer = update(storage).where(storage.c.tenant == tenant, storage.c.version < version)
    await connection.execute(newer.values(maximum_bytes=maximum_bytes, version=version))

"""How many bytes each tenant has in the store, and how many it may have.

What is counted is what is there: contents that checkpoints share count once, from the commit that brought them until they are deleted.
Each change stands in the transaction of what it counts. A commit locks the row before the objects that it adds.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import storage


@dataclass(frozen=True, slots=True)
class StorageUsage:
    """A tenant's bytes; no maximum bounds nothing."""

    used_bytes: int = 0
    maximum_bytes: int | None = None


async def load_stored(connection: AsyncConnection, tenant: UUID) -> StorageUsage:
    """Return what the tenant has and may have; without a row, nothing of either."""
    columns = storage.c.used_bytes, storage.c.maximum_bytes
    row = (await connection.execute(select(*columns).where(storage.c.tenant == tenant))).first()
    return StorageUsage(*row) if row else StorageUsage()


async def lock_stored(connection: AsyncConnection, tenant: UUID) -> StorageUsage:
    """As `load_stored`; nobody else's bytes are counted until this transaction ends."""
    await connection.execute(insert(storage).values(tenant=tenant).on_conflict_do_nothing())
    columns = storage.c.used_bytes, storage.c.maximum_bytes
    row = await connection.execute(select(*columns).where(storage.c.tenant == tenant).with_for_update())
    return StorageUsage(*row.one())


async def add_used(connection: AsyncConnection, tenant: UUID, more_bytes: int) -> None:
    """Count bytes that came, or went where negative."""
    if more_bytes == 0:
        return
    made = insert(storage).values(tenant=tenant, used_bytes=more_bytes)
    used = storage.c.used_bytes + more_bytes
    await connection.execute(made.on_conflict_do_update(index_elements=["tenant"], set_={"used_bytes": used}))


async def save_maximum(
    connection: AsyncConnection, tenant: UUID, maximum_bytes: int | None, version: int
) -> None:
    """Set what the tenant may have; an older word than the one known changes nothing."""
    await connection.execute(insert(storage).values(tenant=tenant).on_conflict_do_nothing())
    newer = update(storage).where(storage.c.tenant == tenant, storage.c.version < version)
    await connection.execute(newer.values(maximum_bytes=maximum_bytes, version=version))

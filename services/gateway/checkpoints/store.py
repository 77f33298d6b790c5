"""Storage limits of tenants."""

from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.checkpoints.tables import storage_limit


async def save_storage_limit(connection: AsyncConnection, tenant: UUID, maximum_bytes: int | None) -> int:
    """Replace the storage limit of a tenant and return its new version."""
    changed = {"maximum_bytes": maximum_bytes, "version": storage_limit.c.version + 1}
    statement = (
        upsert(storage_limit)
        .values(tenant=tenant, maximum_bytes=maximum_bytes, version=1)
        .on_conflict_do_update(index_elements=["tenant"], set_=changed)
        .returning(storage_limit.c.version)
    )
    version: int = (await connection.execute(statement)).scalar_one()
    return version


async def load_storage_limit(connection: AsyncConnection, tenant: UUID) -> Row[Any] | None:
    """Return the storage limit; None if none was ever set."""
    query = select(storage_limit).where(storage_limit.c.tenant == tenant)
    return (await connection.execute(query)).one_or_none()

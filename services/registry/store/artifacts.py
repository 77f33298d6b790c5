"""Content-addressed artifacts of a tenant: a row says that the object is there and is what its address says."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import artifacts


async def load_artifact(connection: AsyncConnection, kind: str, sha256: str) -> tuple[str, int] | None:
    """Return key and size in bytes of the tenant's artifact; None when it has none of that hash."""
    row = (
        await connection.execute(
            select(artifacts.c.key, artifacts.c.size_bytes).where(
                artifacts.c.kind == kind, artifacts.c.sha256 == sha256
            )
        )
    ).first()
    return (row.key, row.size_bytes) if row else None


async def save_artifact(
    connection: AsyncConnection,
    tenant: UUID,
    kind: str,
    sha256: str,
    size_bytes: int,
    key: str,
    now: datetime,
) -> bool:
    """Make a verified artifact known; return whether it was not known before."""
    made = await connection.execute(
        insert(artifacts)
        .values(tenant=tenant, kind=kind, sha256=sha256, size_bytes=size_bytes, key=key, created_at=now)
        .on_conflict_do_nothing()
        .returning(artifacts.c.sha256)
    )
    return made.first() is not None

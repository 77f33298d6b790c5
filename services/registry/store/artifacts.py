"""Content-addressed artifacts of a tenant: a row says that the object is there and is what its address says.

An upload to where an artifact stays is written down before, so that what nobody confirms is found and deleted. The row of an upload is locked
by who confirms it and by who lets it go, so that one waits for the other.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.storage_tables import artifact_uploads
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


async def await_upload(connection: AsyncConnection, tenant: UUID, key: str, now: datetime) -> bool:
    """Write down that a key may be written from now on; False while what lies there is being deleted."""
    made = insert(artifact_uploads).values(key=key, tenant=tenant, asked_at=now, is_going=False)
    renewed = made.on_conflict_do_update(
        index_elements=["key"], set_={"asked_at": now}, where=artifact_uploads.c.is_going.is_(False)
    )
    return (await connection.execute(renewed.returning(artifact_uploads.c.key))).first() is not None


async def end_upload(connection: AsyncConnection, key: str) -> bool:
    """Await no upload there any more; False where it was let go, and what lies there is being deleted."""
    found = select(artifact_uploads.c.is_going).where(artifact_uploads.c.key == key).with_for_update()
    if await connection.scalar(found):
        return False
    await connection.execute(delete(artifact_uploads).where(artifact_uploads.c.key == key))
    return True


async def let_uploads_go(connection: AsyncConnection, before: datetime, now: datetime) -> list[str]:
    """Write down that uploads go that were asked for before that time and never confirmed; return their keys, to one who asks alone.

    Who does not come to delete them leaves them to whoever asks as long afterwards.
    """
    uploads = artifact_uploads.c
    is_kept = select(artifacts.c.key).where(artifacts.c.key == uploads.key).exists()
    await connection.execute(delete(artifact_uploads).where(uploads.asked_at < before, is_kept))
    going = update(artifact_uploads).where(uploads.asked_at < before).values(is_going=True, asked_at=now)
    return sorted(await connection.scalars(going.returning(uploads.key)))


async def save_uploads_gone(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Forget uploads whose objects were deleted."""
    await connection.execute(delete(artifact_uploads).where(artifact_uploads.c.key.in_(keys)))

"""Content-addressed artifacts of a tenant. A row means that the object exists and was verified.

An upload to an artifact's final key is recorded first, so that unconfirmed uploads are found and deleted. Confirming and deleting an upload both lock
its row, so that one waits for the other.

An artifact that no experiment uses is deleted some time after it was last requested: every submission requests it first.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import DateTime, delete, func, literal, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.storage_tables import artifact_uploads
from services.registry.store.tables import artifacts, experiments, storage, trials

ASKED_EVERY = timedelta(hours=1)
"""Precision of the last-requested time: a thousand experiments with equal code update the row once."""


async def load_artifact(connection: AsyncConnection, kind: str, sha256: str) -> tuple[str, int] | None:
    """Return key and size in bytes of the tenant's artifact; None if it has none with that hash."""
    row = (
        await connection.execute(
            select(artifacts.c.key, artifacts.c.size_bytes).where(
                artifacts.c.kind == kind, artifacts.c.sha256 == sha256
            )
        )
    ).first()
    return (row.key, row.size_bytes) if row else None


async def ask_artifact(
    connection: AsyncConnection, kind: str, sha256: str, now: datetime
) -> tuple[str, int] | None:
    """Like `load_artifact`, and record the request: an artifact that is found is kept for the unused period, minus an hour."""
    same = artifacts.c.kind == kind, artifacts.c.sha256 == sha256
    found = select(artifacts.c.key, artifacts.c.size_bytes).where(*same)
    row = (await connection.execute(found.where(artifacts.c.last_requested_at > now - ASKED_EVERY))).first()
    if row is None:
        asked = update(artifacts).where(*same).values(last_requested_at=now, unused_since=None)
        row = (await connection.execute(asked.returning(artifacts.c.key, artifacts.c.size_bytes))).first()
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
    """Insert a verified artifact; return whether it is new."""
    made = await connection.execute(
        insert(artifacts)
        .values(
            tenant=tenant,
            kind=kind,
            sha256=sha256,
            size_bytes=size_bytes,
            key=key,
            created_at=now,
            last_requested_at=now,
        )
        .on_conflict_do_nothing()
        .returning(artifacts.c.sha256)
    )
    return made.first() is not None


async def await_upload(connection: AsyncConnection, tenant: UUID, key: str, now: datetime) -> bool:
    """Record that a key may be written from now on; False while the object there is being deleted."""
    made = insert(artifact_uploads).values(key=key, tenant=tenant, requested_at=now, is_deleting=False)
    renewed = made.on_conflict_do_update(
        index_elements=["key"], set_={"requested_at": now}, where=artifact_uploads.c.is_deleting.is_(False)
    )
    return (await connection.execute(renewed.returning(artifact_uploads.c.key))).first() is not None


async def end_upload(connection: AsyncConnection, key: str) -> bool:
    """Remove the upload's record; False if the upload has expired and its object is being deleted."""
    found = select(artifact_uploads.c.is_deleting).where(artifact_uploads.c.key == key).with_for_update()
    if await connection.scalar(found):
        return False
    await connection.execute(delete(artifact_uploads).where(artifact_uploads.c.key == key))
    return True


async def mark_unused_deleting(
    connection: AsyncConnection, asked_before: datetime, noticed: tuple[datetime, datetime], now: datetime
) -> list[str]:
    """Delete artifacts that no experiment uses and that were not requested since; return their keys, which are recorded as uploads to delete.

    An artifact is marked as unused first. It is deleted if it was marked within the time span `noticed`. If it was marked earlier it is marked again,
    because this service may have been down meanwhile, with submissions that it has not received yet.
    """
    unasked = (artifacts.c.last_requested_at < asked_before, ~_IS_USED)
    columns = artifacts.c
    deleted = (
        delete(artifacts)
        .where(*unasked, columns.unused_since.between(*noticed))
        .returning(columns.tenant, columns.key, columns.size_bytes)
        .cte("deleted")
    )
    freed = (
        select(deleted.c.tenant, func.sum(deleted.c.size_bytes).label("size_bytes"))
        .group_by(deleted.c.tenant)
        .subquery("freed")
    )
    counted = (
        update(storage)
        .where(storage.c.tenant == freed.c.tenant)
        .values(used_bytes=storage.c.used_bytes - freed.c.size_bytes)
        .cte("counted")
    )
    uploads = select(deleted.c.key, deleted.c.tenant, literal(now, DateTime(timezone=True)), true())
    going = insert(artifact_uploads).from_select(["key", "tenant", "requested_at", "is_deleting"], uploads)
    anew = {"is_deleting": True, "requested_at": going.excluded.requested_at}
    known = going.on_conflict_do_update(index_elements=["key"], set_=anew).add_cte(counted)
    keys = sorted(await connection.scalars(known.returning(artifact_uploads.c.key)))
    is_new = columns.unused_since.is_(None) | (columns.unused_since < noticed[0])
    await connection.execute(update(artifacts).where(*unasked, is_new).values(unused_since=now))
    return keys


async def mark_uploads_deleting(connection: AsyncConnection, before: datetime, now: datetime) -> list[str]:
    """Mark uploads for deletion that were requested before that time and never confirmed; return their keys to one caller only.

    If that caller fails to delete them, they are returned again to a caller after the same time.
    """
    uploads = artifact_uploads.c
    is_kept = select(artifacts.c.key).where(artifacts.c.key == uploads.key).exists()
    await connection.execute(delete(artifact_uploads).where(uploads.requested_at < before, is_kept))
    going = (
        update(artifact_uploads)
        .where(uploads.requested_at < before)
        .values(is_deleting=True, requested_at=now)
    )
    return sorted(await connection.scalars(going.returning(uploads.key)))


async def remove_uploads(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Delete the records of uploads whose objects were deleted."""
    await connection.execute(delete(artifact_uploads).where(artifact_uploads.c.key.in_(keys)))


_IS_USED = or_(
    *(
        select(table.c.id)
        .where(table.c.tenant == artifacts.c.tenant, table.c.code_hash == artifacts.c.sha256)
        .exists()
        for table in (experiments, trials)
    )
)

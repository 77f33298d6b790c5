"""Content-addressed artifacts of a tenant: a row says that the object is there and is what its address says.

An upload to where an artifact stays is written down before, so that what nobody confirms is found and deleted. The row of an upload is locked
by who confirms it and by who lets it go, so that one waits for the other.

An artifact that no experiment has goes after a while, counted from when somebody last asked for it: whoever submits asks first.
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
"""How exactly it is written down when an artifact was asked for: a thousand experiments of one code write one row once."""


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


async def ask_artifact(
    connection: AsyncConnection, kind: str, sha256: str, now: datetime
) -> tuple[str, int] | None:
    """As `load_artifact`, and written down: what is found stays for as long as an artifact may be there for nothing, less an hour."""
    same = artifacts.c.kind == kind, artifacts.c.sha256 == sha256
    found = select(artifacts.c.key, artifacts.c.size_bytes).where(*same)
    row = (await connection.execute(found.where(artifacts.c.asked_at > now - ASKED_EVERY))).first()
    if row is None:
        asked = update(artifacts).where(*same).values(asked_at=now, unused_since=None)
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
    """Make a verified artifact known; return whether it was not known before."""
    made = await connection.execute(
        insert(artifacts)
        .values(
            tenant=tenant,
            kind=kind,
            sha256=sha256,
            size_bytes=size_bytes,
            key=key,
            created_at=now,
            asked_at=now,
        )
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


async def mark_unused_deleting(
    connection: AsyncConnection, asked_before: datetime, noticed: tuple[datetime, datetime], now: datetime
) -> list[str]:
    """Forget artifacts that no experiment has and nobody asked for since; return their keys, which are written down as uploads that go.

    One is noticed first, and goes where that was within the span: noticed longer ago it is noticed anew, since this service may have been
    away meanwhile, with submissions waiting that it has not heard of.
    """
    unasked = (artifacts.c.asked_at < asked_before, ~_IS_USED)
    columns = artifacts.c
    gone = (
        delete(artifacts)
        .where(*unasked, columns.unused_since.between(*noticed))
        .returning(columns.tenant, columns.key, columns.size_bytes)
        .cte("gone")
    )
    freed = (
        select(gone.c.tenant, func.sum(gone.c.size_bytes).label("size_bytes"))
        .group_by(gone.c.tenant)
        .subquery("freed")
    )
    counted = (
        update(storage)
        .where(storage.c.tenant == freed.c.tenant)
        .values(used_bytes=storage.c.used_bytes - freed.c.size_bytes)
        .cte("counted")
    )
    uploads = select(gone.c.key, gone.c.tenant, literal(now, DateTime(timezone=True)), true())
    going = insert(artifact_uploads).from_select(["key", "tenant", "asked_at", "is_going"], uploads)
    anew = {"is_going": True, "asked_at": going.excluded.asked_at}
    known = going.on_conflict_do_update(index_elements=["key"], set_=anew).add_cte(counted)
    keys = sorted(await connection.scalars(known.returning(artifact_uploads.c.key)))
    is_new = columns.unused_since.is_(None) | (columns.unused_since < noticed[0])
    await connection.execute(update(artifacts).where(*unasked, is_new).values(unused_since=now))
    return keys


async def mark_uploads_deleting(connection: AsyncConnection, before: datetime, now: datetime) -> list[str]:
    """Write down that uploads go that were asked for before that time and never confirmed; return their keys, to one who asks alone.

    Who does not come to delete them leaves them to whoever asks as long afterwards.
    """
    uploads = artifact_uploads.c
    is_kept = select(artifacts.c.key).where(artifacts.c.key == uploads.key).exists()
    await connection.execute(delete(artifact_uploads).where(uploads.asked_at < before, is_kept))
    going = update(artifact_uploads).where(uploads.asked_at < before).values(is_going=True, asked_at=now)
    return sorted(await connection.scalars(going.returning(uploads.key)))


async def remove_uploads(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Forget uploads whose objects were deleted."""
    await connection.execute(delete(artifact_uploads).where(artifact_uploads.c.key.in_(keys)))


_IS_USED = or_(
    *(
        select(table.c.id)
        .where(table.c.tenant == artifacts.c.tenant, table.c.code_hash == artifacts.c.sha256)
        .exists()
        for table in (experiments, trials)
    )
)

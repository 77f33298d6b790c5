"""Stored files of checkpoints by content: found for whoever brings the same bytes, shared, and gone a while after the last reference.

A reference is a row of `checkpoint_files` with the object's key, of a checkpoint that is not deleted. An object's row is locked by
whoever adds a reference and by whoever lets it go, so that one waits for the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.checkpoints import File
from services.registry.store.tables import objects

Content = tuple[str, int]
"""SHA-256 in hex and size in bytes."""


@dataclass(frozen=True, slots=True)
class Unused:
    """An object without a reference when it was last looked at, or one that is being deleted."""

    tenant: UUID
    key: str


async def find_known(connection: AsyncConnection, wanted: Iterable[Content]) -> dict[Content, str]:
    """Return the keys of those contents that the tenant has, their rows locked against deletion."""
    contents = sorted(set(wanted))
    if not contents:
        return {}
    rows = await connection.execute(
        select(objects.c.sha256, objects.c.size_bytes, objects.c.key)
        .where(tuple_(objects.c.sha256, objects.c.size_bytes).in_(contents), objects.c.state == "kept")
        .order_by(objects.c.key)
        .with_for_update(read=True)
    )
    return {(row.sha256, row.size_bytes): row.key for row in rows}


async def save_objects(connection: AsyncConnection, tenant: UUID, files: Sequence[File]) -> list[File]:
    """Make verified copies known, and return the files with the keys that count: another's where the content was there already."""
    rows = [
        {"key": file.key, "tenant": tenant, "sha256": file.sha256, "size_bytes": file.size_bytes}
        for file in sorted(files, key=lambda file: (file.sha256, file.size_bytes))
    ]
    if not rows:
        return []
    await connection.execute(insert(objects).values(rows).on_conflict_do_nothing())
    known = await find_known(connection, [(file.sha256, file.size_bytes) for file in files])
    return [replace(file, key=known.get((file.sha256, file.size_bytes), file.key)) for file in files]


async def save_damaged(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Nobody else is to share these: what is stored there is not what it was."""
    await connection.execute(update(objects).where(objects.c.key.in_(keys)).values(state="damaged"))


async def save_released(connection: AsyncConnection, checkpoint: UUID, now: datetime) -> None:
    """A deleted checkpoint's objects are unused from now on, unless another one holds them."""
    await connection.execute(_RELEASE, {"checkpoint": checkpoint, "now": now})


async def load_unused(connection: AsyncConnection, before: datetime, limit: int) -> list[Unused]:
    """Return objects unused since before that time."""
    rows = await connection.execute(
        select(objects.c.tenant, objects.c.key)
        .where(objects.c.unused_since < before)
        .order_by(objects.c.unused_since)
        .limit(limit)
    )
    return [Unused(row.tenant, row.key) for row in rows]


async def let_go(connection: AsyncConnection, keys: Sequence[str]) -> list[str]:
    """Lock objects and return those that may be deleted, marked so; one that got a reference meanwhile is in use again."""
    await connection.execute(
        select(objects.c.key).where(objects.c.key.in_(keys)).order_by(objects.c.key).with_for_update()
    )
    return sorted(await connection.scalars(_LET_GO, {"keys": list(keys)}))


async def save_gone(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Forget objects that were deleted."""
    await connection.execute(delete(objects).where(objects.c.key.in_(keys), objects.c.state == "deleting"))


async def load_shared(connection: AsyncConnection, keys: Sequence[str]) -> frozenset[str]:
    """Return those of the keys that are objects: they outlive the checkpoint that brought them."""
    return frozenset(await connection.scalars(select(objects.c.key).where(objects.c.key.in_(keys))))


_HELD = (
    "EXISTS (SELECT 1 FROM registry.checkpoint_files f JOIN registry.checkpoints c ON c.id = f.checkpoint"
    " WHERE f.key = o.key AND c.state <> 'deleted')"
)
_RELEASE = text(
    "UPDATE registry.objects o SET unused_since = :now FROM registry.checkpoint_files mine"
    f" WHERE mine.checkpoint = :checkpoint AND mine.key = o.key AND o.unused_since IS NULL AND NOT {_HELD}"
)
_LET_GO = text(
    f"WITH seen AS (UPDATE registry.objects o SET state = CASE WHEN {_HELD} THEN state ELSE 'deleting' END,"
    f" unused_since = CASE WHEN {_HELD} THEN NULL ELSE unused_since END"
    " WHERE o.key = ANY(:keys) RETURNING o.key, o.state)"
    " SELECT key FROM seen WHERE state = 'deleting'"
)

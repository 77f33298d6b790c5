"""Stored files of checkpoints by content: found for whoever brings the same bytes, shared, and gone a while after the last reference.

A reference is a row of `checkpoint_files` with the object's key, of a checkpoint that is not deleted. An object's row is locked by
whoever adds a reference and by whoever lets it go, so that one waits for the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy import case, delete, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.manifests import File
from services.registry.store.tables import objects

Content = tuple[str, int]
"""SHA-256 in hex and size in bytes."""


class _Sized(Protocol):
    @property
    def sha256(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...


def content_of(file: _Sized) -> Content:
    """What a file holds, whatever it is called."""
    return file.sha256, file.size_bytes


@dataclass(frozen=True, slots=True)
class Unused:
    """An object without a reference when it was last looked at, or one that is being deleted."""

    tenant: UUID
    key: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that is to be read and compared with what it was."""

    tenant: UUID
    key: str
    size_bytes: int
    sha256: str


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


async def save_objects(
    connection: AsyncConnection, tenant: UUID, files: Sequence[File], now: datetime
) -> tuple[list[File], int]:
    """Make verified copies known; return the files with the keys that count (another's where the content was there already), and how many bytes are new."""
    rows = [
        {
            "key": file.key,
            "tenant": tenant,
            "sha256": file.sha256,
            "size_bytes": file.size_bytes,
            "verified_at": now,
        }
        for file in sorted(files, key=lambda file: (file.sha256, file.size_bytes))
    ]
    if not rows:
        return [], 0
    made = insert(objects).values(rows).on_conflict_do_nothing().returning(objects.c.size_bytes)
    new_bytes = sum(await connection.scalars(made))
    known = await find_known(connection, map(content_of, files))
    kept = [replace(file, key=known.get(content_of(file), file.key)) for file in files]
    return kept, new_bytes


async def adopt_unknown(connection: AsyncConnection) -> dict[UUID, int]:
    """Make known what saved checkpoints hold where it was sent, and no row tells of; return the bytes that each tenant has more.

    A replica that knows of no uploads to where they stay (before decision 0117) commits them so, while others of a newer version sign for them.
    """
    rows = await connection.execute(_ADOPT)
    return {row.tenant: int(row.size_bytes) for row in rows}


async def save_damaged(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Nobody else is to share these: what is stored there is not what it was."""
    await connection.execute(update(objects).where(objects.c.key.in_(keys)).values(state="damaged"))


async def ask_to_verify(
    connection: AsyncConnection, wanted: Sequence[UUID], now: datetime
) -> tuple[int, int]:
    """Have the objects of these checkpoints read before all others; return their number and bytes."""
    row = (await connection.execute(_ASK, {"wanted": list(wanted), "now": now})).one()
    return int(row.number), int(row.size_bytes)


async def load_waiting(connection: AsyncConnection, experiment: UUID) -> tuple[int, int]:
    """Return number and bytes of what was asked for and not read yet, of the experiment's saved checkpoints."""
    row = (await connection.execute(_WAITING, {"experiment": experiment})).one()
    return int(row.number), int(row.size_bytes)


async def load_verified(connection: AsyncConnection, wanted: Sequence[UUID]) -> dict[UUID, datetime]:
    """Return since when each of these checkpoints is known to be whole: when the first read of its objects was read.

    One of which an object is still to be read because somebody asked is left out: what was known of it is in doubt.
    """
    rows = await connection.execute(_VERIFIED, {"wanted": list(wanted)})
    return {row.checkpoint: row.verified_at for row in rows if row.verified_at is not None}


async def claim_asked(connection: AsyncConnection, now: datetime, until: datetime) -> Unread | None:
    """Take the object that was asked for first; nobody else takes it before `until`."""
    row = (await connection.execute(_CLAIM_ASKED, {"now": now, "until": until})).first()
    return Unread(*row) if row else None


async def claim_oldest(
    connection: AsyncConnection, now: datetime, read_before: datetime, until: datetime
) -> Unread | None:
    """Take the object that was not read for longest, if not since that time; nobody else takes it before `until`."""
    given = {"now": now, "read_before": read_before, "until": until}
    row = (await connection.execute(_CLAIM_OLDEST, given)).first()
    return Unread(*row) if row else None


async def save_verified(connection: AsyncConnection, key: str, now: datetime, since: datetime) -> None:
    """The object is what it was; who asked for it after `since` has it read once more."""
    changed = update(objects).where(objects.c.key == key)
    later = case((objects.c.asked_at > since, objects.c.asked_at), else_=None)
    await connection.execute(changed.values(verified_at=now, asked_at=later, claimed_until=None))


async def save_released(connection: AsyncConnection, gone: Sequence[UUID], now: datetime) -> None:
    """The objects of deleted checkpoints are unused from now on, unless another one holds them."""
    await connection.execute(_RELEASE, {"gone": list(gone), "now": now})


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


async def save_gone(connection: AsyncConnection, keys: Sequence[str]) -> int:
    """Forget objects that were deleted; return their bytes."""
    gone = delete(objects).where(objects.c.key.in_(keys), objects.c.state == "deleting")
    return sum(await connection.scalars(gone.returning(objects.c.size_bytes)))


async def load_shared(connection: AsyncConnection, keys: Sequence[str]) -> frozenset[str]:
    """Return those of the keys that are objects: they outlive the checkpoint that brought them."""
    return frozenset(await connection.scalars(select(objects.c.key).where(objects.c.key.in_(keys))))


_HELD = (
    "EXISTS (SELECT 1 FROM registry.checkpoint_files f JOIN registry.checkpoints c ON c.id = f.checkpoint"
    " WHERE f.key = o.key AND c.state <> 'deleted')"
)
_ADOPT = text(
    "WITH adopted AS (INSERT INTO registry.objects (key, tenant, sha256, size_bytes)"
    " SELECT DISTINCT f.key, f.tenant, f.sha256, f.size_bytes FROM registry.checkpoint_files f"
    " JOIN registry.checkpoints c ON c.id = f.checkpoint AND c.state = 'saved'"
    " WHERE NOT EXISTS (SELECT 1 FROM registry.objects o WHERE o.key = f.key)"
    " ON CONFLICT DO NOTHING RETURNING tenant, size_bytes)"
    " SELECT tenant, sum(size_bytes) AS size_bytes FROM adopted GROUP BY tenant ORDER BY tenant"
)
_RELEASE = text(
    "UPDATE registry.objects o SET unused_since = :now FROM registry.checkpoint_files mine"
    f" WHERE mine.checkpoint = ANY(CAST(:gone AS uuid[])) AND mine.key = o.key AND o.unused_since IS NULL AND NOT {_HELD}"
)
_ASK = text(
    "WITH asked AS (UPDATE registry.objects o SET asked_at = :now WHERE o.state = 'kept' AND o.key IN"
    " (SELECT f.key FROM registry.checkpoint_files f WHERE f.checkpoint = ANY(CAST(:wanted AS uuid[])))"
    " RETURNING o.size_bytes)"
    " SELECT count(*) AS number, coalesce(sum(size_bytes), 0) AS size_bytes FROM asked"
)
_WAITING = text(
    "SELECT count(*) AS number, coalesce(sum(o.size_bytes), 0) AS size_bytes FROM registry.objects o"
    " WHERE o.asked_at IS NOT NULL AND o.state = 'kept' AND EXISTS (SELECT 1 FROM registry.checkpoint_files f"
    " JOIN registry.checkpoints c ON c.id = f.checkpoint"
    " WHERE f.key = o.key AND c.experiment = :experiment AND c.state = 'saved')"
)
_VERIFIED = text(
    "SELECT f.checkpoint, CASE WHEN count(o.verified_at) = count(*) AND count(o.asked_at) = 0"
    " THEN min(o.verified_at) END AS verified_at"
    " FROM registry.checkpoint_files f LEFT JOIN registry.objects o ON o.key = f.key"
    " WHERE f.checkpoint = ANY(CAST(:wanted AS uuid[])) GROUP BY f.checkpoint"
)
_CLAIM = (
    "UPDATE registry.objects SET claimed_until = :until WHERE key = (SELECT key FROM registry.objects"
    " WHERE {due} AND state = 'kept' AND (claimed_until IS NULL OR claimed_until < :now)"
    " ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING tenant, key, size_bytes, sha256"
)
_CLAIM_ASKED = text(_CLAIM.format(due="asked_at IS NOT NULL", order="asked_at"))
_CLAIM_OLDEST = text(
    _CLAIM.format(due="(verified_at IS NULL OR verified_at < :read_before)", order="verified_at NULLS FIRST")
)
_LET_GO = text(
    f"WITH seen AS (UPDATE registry.objects o SET state = CASE WHEN {_HELD} THEN state ELSE 'deleting' END,"
    f" unused_since = CASE WHEN {_HELD} THEN NULL ELSE unused_since END"
    " WHERE o.key = ANY(:keys) RETURNING o.key, o.state)"
    " SELECT key FROM seen WHERE state = 'deleting'"
)

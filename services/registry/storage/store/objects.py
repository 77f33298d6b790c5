"""Stored checkpoint files by content: deduplicated within a tenant, and deleted some time after the last reference.

A reference is a row of `checkpoint_files` with the object's key, of a checkpoint that is not deleted. Adding a reference and deleting the object
both lock the object's row, so that one waits for the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy import FromClause, Select, case, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import CheckpointStatus
from services.registry.storage.store.files import File
from services.registry.store.tables import checkpoint_files, checkpoints, objects
from shared.database.statements import among

Content = tuple[str, int]
"""SHA-256 in hex and size in bytes."""


class _Sized(Protocol):
    @property
    def sha256(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...


def content_of(file: _Sized) -> Content:
    """Return a file's content, independent of its path."""
    return file.sha256, file.size_bytes


@dataclass(frozen=True, slots=True)
class Unused:
    """An object that had no reference when it was last checked, or is being deleted."""

    tenant: UUID
    key: str


@dataclass(frozen=True, slots=True)
class Unread:
    """An object to read and compare with its hash."""

    tenant: UUID
    key: str
    size_bytes: int
    sha256: str


async def find_known(connection: AsyncConnection, wanted: Iterable[Content]) -> dict[Content, str]:
    """Return the keys of those contents that the tenant stores, their rows locked against deletion."""
    contents = sorted(set(wanted))
    if not contents:
        return {}
    rows = await connection.execute(
        select(objects.c.sha256, objects.c.size_bytes, objects.c.key)
        .where(tuple_(objects.c.sha256, objects.c.size_bytes).in_(contents), objects.c.state == "stored")
        .order_by(objects.c.key)
        .with_for_update(read=True)
    )
    return {(row.sha256, row.size_bytes): row.key for row in rows}


async def save_objects(
    connection: AsyncConnection, tenant: UUID, files: Sequence[File], now: datetime
) -> tuple[list[File], int]:
    """Insert verified copies. Return the files with the keys that count (another object's if the content existed), and the number of new bytes."""
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
    """Record final-key objects of saved checkpoints that have no row; return the additional bytes by tenant.

    Replicas of older releases commit without such rows, while newer replicas sign uploads to final keys.
    """
    files = checkpoint_files.c
    unknown = (
        select(files.key, files.tenant, files.sha256, files.size_bytes)
        .distinct()
        .join(
            checkpoints,
            (checkpoints.c.id == files.checkpoint) & (checkpoints.c.state == CheckpointStatus.saved),
        )
        .where(~select(objects.c.key).where(objects.c.key == files.key).exists())
    )
    adopted = (
        insert(objects)
        .from_select(["key", "tenant", "sha256", "size_bytes"], unknown)
        .on_conflict_do_nothing()
        .returning(objects.c.tenant, objects.c.size_bytes)
        .cte("adopted")
    )
    sizes = select(adopted.c.tenant, func.sum(adopted.c.size_bytes)).group_by(adopted.c.tenant)
    rows = await connection.execute(sizes.order_by(adopted.c.tenant))
    return {tenant: int(size_bytes) for tenant, size_bytes in rows}


async def save_damaged(connection: AsyncConnection, keys: Sequence[str]) -> None:
    """Mark objects as damaged, so that nothing else shares them."""
    await connection.execute(update(objects).where(objects.c.key.in_(keys)).values(state="damaged"))


async def ask_to_verify(
    connection: AsyncConnection, wanted: Sequence[UUID], now: datetime
) -> tuple[int, int]:
    """Queue the objects of these checkpoints for verification before all others; return their number and bytes."""
    keys = select(checkpoint_files.c.key).where(among(checkpoint_files.c.checkpoint, wanted))
    asked = (
        update(objects)
        .where(objects.c.state == "stored", objects.c.key.in_(keys))
        .values(verification_requested_at=now)
        .returning(objects.c.size_bytes)
        .cte("asked")
    )
    return await _count(connection, asked)


async def load_waiting(connection: AsyncConnection, experiment: UUID) -> tuple[int, int]:
    """Return number and bytes of requested objects that are not verified yet, of the experiment's saved checkpoints."""
    of_experiment = (checkpoints.c.experiment == experiment, checkpoints.c.state == CheckpointStatus.saved)
    waiting = select(objects.c.size_bytes).where(
        objects.c.verification_requested_at.is_not(None),
        objects.c.state == "stored",
        _HOLDING.where(*of_experiment).exists(),
    )
    return await _count(connection, waiting.subquery())


async def load_verified(connection: AsyncConnection, wanted: Sequence[UUID]) -> dict[UUID, datetime]:
    """Return when each of these checkpoints was verified: the time of its least recently read object.

    Checkpoints with a pending verification request are left out: their state is in doubt.
    """
    checkpoint, verified = checkpoint_files.c.checkpoint, func.count(objects.c.verified_at) == func.count()
    whole = (
        select(checkpoint, func.min(objects.c.verified_at))
        .select_from(checkpoint_files.outerjoin(objects, objects.c.key == checkpoint_files.c.key))
        .where(among(checkpoint, wanted))
        .group_by(checkpoint)
        .having(verified, func.count(objects.c.verification_requested_at) == 0)
    )
    return dict((await connection.execute(whole)).tuples().all())


async def claim_asked(connection: AsyncConnection, now: datetime, until: datetime) -> Unread | None:
    """Claim the object that was requested first; no other replica claims it before `until`."""
    asked = (
        select(objects.c.key)
        .where(objects.c.verification_requested_at.is_not(None))
        .order_by(objects.c.verification_requested_at)
    )
    return await _claim(connection, asked, now, until)


async def claim_oldest(
    connection: AsyncConnection, now: datetime, read_before: datetime, until: datetime
) -> Unread | None:
    """Claim the object that was read longest ago, if before that time; no other replica claims it before `until`."""
    verified_at = objects.c.verified_at
    is_due = verified_at.is_(None) | (verified_at < read_before)
    oldest = select(objects.c.key).where(is_due).order_by(verified_at.nulls_first())
    return await _claim(connection, oldest, now, until)


async def save_verified(connection: AsyncConnection, key: str, now: datetime, since: datetime) -> None:
    """Record that the object matches; it is read again if it was requested after `since`."""
    changed = update(objects).where(objects.c.key == key)
    later = case(
        (objects.c.verification_requested_at > since, objects.c.verification_requested_at), else_=None
    )
    await connection.execute(
        changed.values(verified_at=now, verification_requested_at=later, claimed_until=None)
    )


async def save_released(connection: AsyncConnection, checkpoints: Sequence[UUID], now: datetime) -> None:
    """Mark objects of deleted checkpoints as unused, unless another checkpoint references them."""
    mine = checkpoint_files.alias("mine")
    released = update(objects).where(among(mine.c.checkpoint, checkpoints), mine.c.key == objects.c.key)
    unused = released.where(objects.c.unused_since.is_(None), ~_IS_HELD)
    await connection.execute(unused.values(unused_since=now))


async def load_unused(connection: AsyncConnection, before: datetime, limit: int) -> list[Unused]:
    """Return objects unused since before that time."""
    rows = await connection.execute(
        select(objects.c.tenant, objects.c.key)
        .where(objects.c.unused_since < before)
        .order_by(objects.c.unused_since)
        .limit(limit)
    )
    return [Unused(row.tenant, row.key) for row in rows]


async def mark_deleting(connection: AsyncConnection, keys: Sequence[str]) -> list[str]:
    """Lock objects, mark those for deletion that have no reference, and return these; others are in use again."""
    await connection.execute(
        select(objects.c.key).where(objects.c.key.in_(keys)).order_by(objects.c.key).with_for_update()
    )
    seen = update(objects).where(among(objects.c.key, keys))
    changed = seen.values(
        state=case((_IS_HELD, objects.c.state), else_="deleting"),
        unused_since=case((_IS_HELD, None), else_=objects.c.unused_since),
    )
    rows = await connection.execute(changed.returning(objects.c.key, objects.c.state))
    return sorted(key for key, state in rows if state == "deleting")


async def remove_deleted(connection: AsyncConnection, keys: Sequence[str]) -> int:
    """Delete the rows of deleted objects; return their bytes."""
    deleted = delete(objects).where(objects.c.key.in_(keys), objects.c.state == "deleting")
    return sum(await connection.scalars(deleted.returning(objects.c.size_bytes)))


async def load_shared(connection: AsyncConnection, keys: Sequence[str]) -> frozenset[str]:
    """Return those of the keys that are recorded objects, which may outlive the checkpoint that uploaded them."""
    return frozenset(await connection.scalars(select(objects.c.key).where(objects.c.key.in_(keys))))


async def _count(connection: AsyncConnection, found: FromClause) -> tuple[int, int]:
    """Return number and bytes of the objects found."""
    query = select(func.count(), func.coalesce(func.sum(found.c.size_bytes), 0)).select_from(found)
    number, size_bytes = (await connection.execute(query)).one()
    return number, int(size_bytes)


async def _claim(
    connection: AsyncConnection, due: Select[tuple[str]], now: datetime, until: datetime
) -> Unread | None:
    """Claim the first one that is due and unclaimed."""
    is_free = objects.c.claimed_until.is_(None) | (objects.c.claimed_until < now)
    first = due.where(objects.c.state == "stored", is_free).limit(1).with_for_update(skip_locked=True)
    claimed = update(objects).where(objects.c.key == first.correlate(None).scalar_subquery())
    columns = objects.c.tenant, objects.c.key, objects.c.size_bytes, objects.c.sha256
    row = (await connection.execute(claimed.values(claimed_until=until).returning(*columns))).first()
    return Unread(*row) if row else None


_HOLDING = (
    select(checkpoint_files.c.key)
    .join(checkpoints, checkpoints.c.id == checkpoint_files.c.checkpoint)
    .where(checkpoint_files.c.key == objects.c.key)
    .correlate(objects)
)
_IS_HELD = _HOLDING.where(checkpoints.c.state != CheckpointStatus.deleted).exists()

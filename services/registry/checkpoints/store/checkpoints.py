"""Checkpoint rows. Only this module writes the state, and only by the state machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import case, delete, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import (
    CHECKPOINT,
    OPEN,
    PUBLIC,
    Candidate,
    CheckpointStatus,
    CheckpointTrigger,
)
from services.registry.store.tables import checkpoint_files, checkpoints
from shared.database.statements import rows_given
from shared.filters.fields import ListQuery, Position
from shared.filters.sql import Cells, load_part, position_at

LISTED = Cells(
    checkpoints,
    {
        "run": checkpoints.c.run_number,
        "state": case(
            *((checkpoints.c.state == state, public) for state, public in PUBLIC.items()), else_="uploading"
        ),
    },
)
"""Columns by which lists can be filtered and sorted."""


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """A checkpoint's row."""

    id: UUID
    tenant: UUID
    experiment: UUID
    trial: UUID
    run: UUID
    run_number: int
    token: int
    number: int
    step: int
    state: CheckpointStatus
    version: int
    attempts: int
    files: int
    size_bytes: int
    pending_workers: tuple[str, ...]
    metadata: Mapping[str, Any]
    reason: str | None
    created_at: datetime
    changed_at: datetime
    shard_workers: tuple[str, ...] | None = None
    upload_rounds: int = 0
    """How often objects were created for it that only a commit makes permanent."""
    is_fully_recorded: bool = False
    """All of its stored objects are recorded: deletion need not list the store."""


async def insert_checkpoint(connection: AsyncConnection, row: Mapping[str, object]) -> bool:
    """Insert a checkpoint; return False if its id or its number in the run is taken."""
    made = await connection.execute(
        insert(checkpoints)
        .values(state=CHECKPOINT.initial, version=1, **row)
        .on_conflict_do_nothing()
        .returning(checkpoints.c.id)
    )
    return made.first() is not None


async def load_checkpoint(
    connection: AsyncConnection, checkpoint: UUID, *, lock: bool = False
) -> CheckpointRow | None:
    """Return the checkpoint, with its row locked if requested; None if the tenant has none of this id."""
    query = select(checkpoints).where(checkpoints.c.id == checkpoint)
    row = (await connection.execute(query.with_for_update() if lock else query)).first()
    return _checkpoint(row) if row else None


async def load_checkpoints(
    connection: AsyncConnection,
    wanted: ListQuery,
    *,
    trial: UUID | None = None,
    experiment: UUID | None = None,
) -> tuple[list[tuple[CheckpointRow, Position]], bool]:
    """Return the requested checkpoints, each with the position after it, and whether there are more."""
    query = select(checkpoints)
    if trial is not None:
        query = query.where(checkpoints.c.trial == trial)
    if experiment is not None:
        query = query.where(checkpoints.c.experiment == experiment)
    part = await load_part(connection, query, LISTED, wanted)
    return [(_checkpoint(row), position_at(row, wanted)) for row in part.rows], part.next is not None


async def move_checkpoint(
    connection: AsyncConnection,
    checkpoint: CheckpointRow,
    trigger: CheckpointTrigger,
    now: datetime,
    **also: object,
) -> CheckpointRow:
    """Move a locked checkpoint to its next state, with a new version; unchanged if the trigger is ignored."""
    if not CHECKPOINT.moves(checkpoint.state, trigger):
        CHECKPOINT.next(checkpoint.state, trigger)
        return checkpoint
    row = await connection.execute(
        update(checkpoints)
        .where(checkpoints.c.id == checkpoint.id)
        .values(
            state=CHECKPOINT.next(checkpoint.state, trigger),
            version=checkpoint.version + 1,
            changed_at=now,
            **also,
        )
        .returning(checkpoints)
    )
    return _checkpoint(row.one())


async def lock_many(connection: AsyncConnection, wanted: Sequence[UUID]) -> list[CheckpointRow]:
    """Lock and return these checkpoints ordered by id; unknown ones are left out."""
    rows = await connection.execute(
        select(checkpoints).where(checkpoints.c.id.in_(wanted)).order_by(checkpoints.c.id).with_for_update()
    )
    return [_checkpoint(row) for row in rows]


async def move_many(
    connection: AsyncConnection,
    moving: Sequence[CheckpointRow],
    trigger: CheckpointTrigger,
    now: datetime,
    reason: str | None,
) -> list[CheckpointRow]:
    """Like `move_checkpoint` for many locked checkpoints in one statement; return those that moved."""
    moving = [one for one in moving if CHECKPOINT.moves(one.state, trigger)]
    if not moving:
        return []
    columns = checkpoints.c
    states = [(one.id, CHECKPOINT.next(one.state, trigger)) for one in moving]
    new = rows_given([columns.id, columns.state], states)
    moved = update(checkpoints).where(columns.id == new.c.id)
    changes = {"state": new.c.state, "version": columns.version + 1, "changed_at": now}
    why = {} if reason is None else {"reason": reason}
    rows = await connection.execute(moved.values(**changes, **why).returning(columns.id, columns.reason))
    reasons = {row.id: row.reason for row in rows}
    return [
        replace(
            one,
            state=CHECKPOINT.next(one.state, trigger),
            version=one.version + 1,
            changed_at=now,
            reason=reasons[one.id],
        )
        for one in moving
    ]


async def save_part(
    connection: AsyncConnection,
    checkpoint: UUID,
    pending_workers: Sequence[str],
    metadata: Mapping[str, object],
    is_taken_anew: bool,
) -> None:
    """Store which workers a locked checkpoint still waits for, its metadata, and whether it is copied once more."""
    await connection.execute(
        update(checkpoints)
        .where(checkpoints.c.id == checkpoint)
        .values(
            pending_workers=list(pending_workers),
            metadata=dict(metadata),
            upload_rounds=checkpoints.c.upload_rounds + int(is_taken_anew),
        )
    )


async def save_metadata(
    connection: AsyncConnection, checkpoint: UUID, metadata: Mapping[str, object]
) -> None:
    """Replace the metadata of a locked checkpoint."""
    changed = update(checkpoints).where(checkpoints.c.id == checkpoint)
    await connection.execute(changed.values(metadata=dict(metadata)))


async def save_parts(
    connection: AsyncConnection, checkpoint: CheckpointRow, step: int, shard_workers: Sequence[str]
) -> set[str]:
    """Store the workers and step of a locked checkpoint, delete files of other workers or steps, and return which workers sent files."""
    kept = shard_workers if step == checkpoint.step else ()
    files = checkpoint_files.c
    others = delete(checkpoint_files).where(files.checkpoint == checkpoint.id, files.worker.not_in(kept))
    leaves = int(bool((await connection.execute(others)).rowcount))
    changed = update(checkpoints).where(checkpoints.c.id == checkpoint.id)
    upload_rounds = checkpoints.c.upload_rounds + leaves
    await connection.execute(
        changed.values(step=step, shard_workers=list(shard_workers), upload_rounds=upload_rounds)
    )
    sent = select(files.worker).where(files.checkpoint == checkpoint.id).distinct()
    return set(await connection.scalars(sent))


async def load_candidates(connection: AsyncConnection, trial: UUID) -> list[Candidate]:
    """Return the trial's saved checkpoints, to choose the newest."""
    rows = await connection.execute(
        select(checkpoints.c.id, checkpoints.c.token, checkpoints.c.step, checkpoints.c.state).where(
            checkpoints.c.trial == trial, checkpoints.c.state == CheckpointStatus.saved
        )
    )
    return [Candidate(row.id, row.token, row.step, CheckpointStatus(row.state)) for row in rows]


async def lock_holders(connection: AsyncConnection, key: str) -> list[CheckpointRow]:
    """Lock and return the saved checkpoints with this object."""
    holding = select(checkpoint_files.c.checkpoint).where(checkpoint_files.c.key == key)
    rows = await connection.execute(
        select(checkpoints)
        .where(checkpoints.c.id.in_(holding), checkpoints.c.state == CheckpointStatus.saved)
        .order_by(checkpoints.c.id)
        .with_for_update()
    )
    return [_checkpoint(row) for row in rows]


async def lock_unsaved(connection: AsyncConnection, run: UUID) -> list[CheckpointRow]:
    """Lock and return the run's announced checkpoints that are neither saved nor abandoned."""
    rows = await connection.execute(
        select(checkpoints)
        .where(checkpoints.c.run == run, checkpoints.c.state.in_(OPEN))
        .order_by(checkpoints.c.number)
        .with_for_update()
    )
    return [_checkpoint(row) for row in rows]


async def load_left(connection: AsyncConnection, before: datetime, limit: int) -> list[CheckpointRow]:
    """Return checkpoints abandoned or corrupt since before that time that may have objects in the store."""
    rows = await connection.execute(
        select(checkpoints)
        .where(
            checkpoints.c.state.in_((CheckpointStatus.abandoned, CheckpointStatus.corrupt)),
            checkpoints.c.is_fully_recorded.is_(False),
        )
        .where(checkpoints.c.changed_at < before)
        .order_by(checkpoints.c.changed_at)
        .limit(limit)
    )
    return [_checkpoint(row) for row in rows]


async def save_fully_recorded(connection: AsyncConnection, checkpoint: UUID) -> None:
    """Record that no unrecorded objects of the checkpoint remain; its state is unchanged."""
    await connection.execute(
        update(checkpoints).where(checkpoints.c.id == checkpoint).values(is_fully_recorded=True)
    )


async def load_deleting(connection: AsyncConnection, limit: int) -> list[CheckpointRow]:
    """Return checkpoints whose objects are to be deleted, oldest intent first."""
    rows = await connection.execute(
        select(checkpoints)
        .where(checkpoints.c.state == CheckpointStatus.deleting)
        .order_by(checkpoints.c.changed_at)
        .limit(limit)
    )
    return [_checkpoint(row) for row in rows]


def _checkpoint(row: Any) -> CheckpointRow:
    values = {name: row._mapping[name] for name in CheckpointRow.__dataclass_fields__}
    values["state"] = CheckpointStatus(values["state"])
    values["pending_workers"] = tuple(values["pending_workers"] or ())
    values["shard_workers"] = None if values["shard_workers"] is None else tuple(values["shard_workers"])
    return CheckpointRow(**values)

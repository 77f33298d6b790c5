"""Files of checkpoints: paths, sizes, hashes and object keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import checkpoint_files, checkpoints
from shared.database.statements import rows_given
from shared.errors import Rejected


@dataclass(frozen=True, slots=True)
class File:
    """A file of a manifest and the key of its object."""

    path: str
    worker: str
    key: str
    size_bytes: int
    sha256: str


async def save_files(
    connection: AsyncConnection, tenant: UUID, checkpoint: UUID, worker: str, files: Sequence[File]
) -> None:
    """Replace one worker's files of a locked checkpoint, and update its file count and size. Earlier uploads of other files may remain."""
    earlier = delete(checkpoint_files).where(
        checkpoint_files.c.checkpoint == checkpoint, checkpoint_files.c.worker == worker
    )
    before = set(await connection.scalars(earlier.returning(checkpoint_files.c.key)))
    leaves = int(not before <= {file.key for file in files})
    rows = [
        {
            "checkpoint": checkpoint,
            "path": file.path,
            "tenant": tenant,
            "worker": worker,
            "key": file.key,
            "size_bytes": file.size_bytes,
            "sha256": file.sha256,
        }
        for file in files
    ]
    if rows and await _insert_files(connection, rows) < len(rows):
        raise Rejected(
            "path_twice", "another worker of the gang uploaded a file with the same path", place="files"
        )
    size = select(func.count(), func.coalesce(func.sum(checkpoint_files.c.size_bytes), 0)).where(
        checkpoint_files.c.checkpoint == checkpoint
    )
    count, size_bytes = (await connection.execute(size)).one()
    await connection.execute(
        update(checkpoints)
        .where(checkpoints.c.id == checkpoint)
        .values(files=count, size_bytes=int(size_bytes), upload_rounds=checkpoints.c.upload_rounds + leaves)
    )


async def _insert_files(connection: AsyncConnection, rows: Sequence[Mapping[str, object]]) -> int:
    made = await connection.execute(
        insert(checkpoint_files).values(rows).on_conflict_do_nothing().returning(checkpoint_files.c.path)
    )
    return len(made.all())


async def save_keys(connection: AsyncConnection, checkpoint: UUID, files: Sequence[File]) -> None:
    """Set the object keys of a locked checkpoint's files."""
    columns = checkpoint_files.c
    stored = rows_given([columns.path, columns.key], [(file.path, file.key) for file in files])
    moved = update(checkpoint_files).where(columns.checkpoint == checkpoint, columns.path == stored.c.path)
    await connection.execute(moved.values(key=stored.c.key))


async def load_files(connection: AsyncConnection, wanted: Sequence[UUID]) -> dict[UUID, list[File]]:
    """Return the files of these checkpoints, each by path."""
    rows = await connection.execute(
        select(checkpoint_files)
        .where(checkpoint_files.c.checkpoint.in_(wanted))
        .order_by(checkpoint_files.c.checkpoint, checkpoint_files.c.path)
    )
    files: dict[UUID, list[File]] = {checkpoint: [] for checkpoint in wanted}
    for row in rows:
        files[row.checkpoint].append(File(row.path, row.worker, row.key, row.size_bytes, row.sha256))
    return files


async def count_files(connection: AsyncConnection, checkpoint: UUID, worker: str) -> int:
    """Return the number of a worker's files of a checkpoint."""
    files = select(func.count()).where(
        checkpoint_files.c.checkpoint == checkpoint, checkpoint_files.c.worker == worker
    )
    return int(await connection.scalar(files) or 0)


async def find_holding(connection: AsyncConnection, key: str) -> File | None:
    """Return one of the files stored in this object; None if no checkpoint has it."""
    row = (
        await connection.execute(select(checkpoint_files).where(checkpoint_files.c.key == key).limit(1))
    ).first()
    return File(row.path, row.worker, row.key, row.size_bytes, row.sha256) if row else None

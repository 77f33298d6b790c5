"""Bytes that each workspace stores, and its limit: distinct contents of its experiments' checkpoints, and their media.

Contents shared by two workspaces count in both, but once for their tenant (`tenants`). A workspace's row is locked before the objects when bytes
are added or released. Code counts only for the tenant, since its upload names no workspace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Text, Uuid, delete, func, literal, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.checkpoint import CheckpointStatus
from services.registry.storage.store.objects import Content
from services.registry.storage.store.tenants import StorageUsage
from services.registry.store.storage_tables import workspace_objects, workspace_storage
from services.registry.store.tables import checkpoint_files, checkpoints, experiments, objects
from shared.database.statements import among

MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class WorkspaceStored:
    """A workspace's bytes."""

    workspace: str
    stored: StorageUsage


async def find_workspace(connection: AsyncConnection, experiment: UUID) -> str | None:
    """Return the workspace of an experiment; None while the registry has not received its submission."""
    found: str | None = await connection.scalar(
        select(experiments.c.workspace).where(experiments.c.id == experiment)
    )
    return found


async def load_stored(connection: AsyncConnection, workspace: str) -> StorageUsage:
    """Return bytes and limit of a workspace of the connection's tenant."""
    row = (await connection.execute(_STORED.where(workspace_storage.c.workspace == workspace))).first()
    return StorageUsage(*row) if row else StorageUsage()


async def load_all(connection: AsyncConnection) -> list[WorkspaceStored]:
    """Return bytes and limits of the tenant's workspaces, by name; those with neither are left out."""
    columns = workspace_storage.c
    rows = await connection.execute(
        select(columns.workspace, columns.used_bytes, columns.maximum_bytes)
        .where((columns.used_bytes != 0) | columns.maximum_bytes.is_not(None))
        .order_by(columns.workspace)
        .limit(MAX_LISTED)
    )
    return [WorkspaceStored(row.workspace, StorageUsage(row.used_bytes, row.maximum_bytes)) for row in rows]


async def lock_stored(connection: AsyncConnection, tenant: UUID, workspace: str) -> StorageUsage:
    """Like `load_stored`, and lock the count until the end of the transaction."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace)
    await connection.execute(made.on_conflict_do_nothing())
    locked = _STORED.where(workspace_storage.c.workspace == workspace).with_for_update()
    return StorageUsage(*(await connection.execute(locked)).one())


async def find_held(
    connection: AsyncConnection, workspace: str, wanted: Iterable[Content]
) -> frozenset[Content]:
    """Return those of the contents that the workspace already stores."""
    contents = sorted(set(wanted))
    if not contents:
        return frozenset()
    rows = await connection.execute(
        select(objects.c.sha256, objects.c.size_bytes)
        .join(workspace_objects, workspace_objects.c.key == objects.c.key)
        .where(
            workspace_objects.c.workspace == workspace,
            tuple_(objects.c.sha256, objects.c.size_bytes).in_(contents),
        )
    )
    return frozenset((row.sha256, row.size_bytes) for row in rows)


async def hold(connection: AsyncConnection, tenant: UUID, workspace: str, checkpoint: UUID) -> None:
    """Count the contents of a checkpoint that are new in its workspace, whose row is locked."""
    contents = (
        select(literal(tenant, Uuid), literal(workspace, Text), objects.c.key, objects.c.size_bytes)
        .distinct()
        .join(checkpoint_files, checkpoint_files.c.key == objects.c.key)
        .where(checkpoint_files.c.checkpoint == checkpoint)
    )
    made = (
        insert(workspace_objects)
        .from_select(["tenant", "workspace", "key", "size_bytes"], contents)
        .on_conflict_do_nothing()
        .returning(workspace_objects.c.size_bytes)
        .cte("made")
    )
    more = select(func.coalesce(func.sum(made.c.size_bytes), 0)).scalar_subquery()
    columns = workspace_storage.c
    mine = update(workspace_storage).where(columns.tenant == tenant, columns.workspace == workspace)
    await connection.execute(mine.values(used_bytes=columns.used_bytes + more))


async def release(connection: AsyncConnection, gone: Sequence[UUID]) -> None:
    """Release contents that no checkpoint of their workspaces references any more, now that these checkpoints are deleted."""
    stored, held, wanted = workspace_storage.c, workspace_objects.c, among(checkpoints.c.id, gone)
    whose = select(experiments.c.tenant, experiments.c.workspace).select_from(_OF_EXPERIMENTS).where(wanted)
    locked = select(literal(1)).where(tuple_(stored.tenant, stored.workspace).in_(whose))
    await connection.execute(locked.order_by(stored.tenant, stored.workspace).with_for_update())
    mine = (
        select(experiments.c.tenant, experiments.c.workspace, checkpoint_files.c.key)
        .distinct()
        .select_from(_WITH_FILES)
        .where(wanted)
        .cte("mine")
    )
    is_held = (
        select(checkpoint_files.c.key)
        .select_from(_WITH_FILES)
        .where(checkpoint_files.c.key == held.key, experiments.c.workspace == held.workspace)
        .where(checkpoints.c.state != CheckpointStatus.deleted)
        .correlate(workspace_objects)
        .exists()
    )
    released = (
        delete(workspace_objects)
        .where(*(held[name] == mine.c[name] for name in ("tenant", "workspace", "key")), ~is_held)
        .returning(held.tenant, held.workspace, held.size_bytes)
        .cte("released")
    )
    owner = released.c.tenant, released.c.workspace
    freed = select(*owner, func.sum(released.c.size_bytes).label("size_bytes")).group_by(*owner).cte("freed")
    counted = update(workspace_storage).where(
        stored.tenant == freed.c.tenant, stored.workspace == freed.c.workspace
    )
    await connection.execute(counted.values(used_bytes=stored.used_bytes - freed.c.size_bytes))


async def add_used(connection: AsyncConnection, tenant: UUID, workspace: str, more_bytes: int) -> None:
    """Add bytes to the count, or subtract negative ones."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace, used_bytes=more_bytes)
    used = workspace_storage.c.used_bytes + more_bytes
    await connection.execute(
        made.on_conflict_do_update(index_elements=["tenant", "workspace"], set_={"used_bytes": used})
    )


async def save_maximum(
    connection: AsyncConnection, tenant: UUID, workspace: str, maximum_bytes: int | None, version: int
) -> None:
    """Set a workspace's limit; an older version than the stored one changes nothing."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace)
    await connection.execute(made.on_conflict_do_nothing())
    columns = workspace_storage.c
    newer = update(workspace_storage).where(
        columns.tenant == tenant, columns.workspace == workspace, columns.version < version
    )
    await connection.execute(newer.values(maximum_bytes=maximum_bytes, version=version))


_STORED = select(workspace_storage.c.used_bytes, workspace_storage.c.maximum_bytes)
_OF_EXPERIMENTS = checkpoints.join(experiments, experiments.c.id == checkpoints.c.experiment)
_WITH_FILES = _OF_EXPERIMENTS.join(checkpoint_files, checkpoint_files.c.checkpoint == checkpoints.c.id)

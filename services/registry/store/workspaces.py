"""How many bytes each workspace has in the store, and how many it may have: what checkpoints of its experiments hold, each content once, and its media.

What two workspaces hold counts in both, and for their tenant once (`storage`). A workspace's row is locked by whoever adds to it or lets go,
before the objects; code counts for the tenant alone, since its upload names no workspace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.objects import Content
from services.registry.store.storage import Stored
from services.registry.store.storage_tables import workspace_objects, workspace_storage
from services.registry.store.tables import experiments, objects

MOST_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class WorkspaceStored:
    """A workspace's bytes."""

    workspace: str
    stored: Stored


async def find_workspace(connection: AsyncConnection, experiment: UUID) -> str | None:
    """Return the workspace of an experiment; None while the registry has not heard of its submission."""
    found: str | None = await connection.scalar(
        select(experiments.c.workspace).where(experiments.c.id == experiment)
    )
    return found


async def load_stored(connection: AsyncConnection, workspace: str) -> Stored:
    """Return what a workspace of the connection's tenant has and may have."""
    row = (await connection.execute(_STORED.where(workspace_storage.c.workspace == workspace))).first()
    return Stored(*row) if row else Stored()


async def load_all(connection: AsyncConnection) -> list[WorkspaceStored]:
    """Return what the tenant's workspaces have and may have, by name; those with neither bytes nor a maximum are left out."""
    columns = workspace_storage.c
    rows = await connection.execute(
        select(columns.workspace, columns.used_bytes, columns.maximum_bytes)
        .where((columns.used_bytes != 0) | columns.maximum_bytes.is_not(None))
        .order_by(columns.workspace)
        .limit(MOST_SHOWN)
    )
    return [WorkspaceStored(row.workspace, Stored(row.used_bytes, row.maximum_bytes)) for row in rows]


async def lock_stored(connection: AsyncConnection, tenant: UUID, workspace: str) -> Stored:
    """As `load_stored`; nobody else's bytes are counted there until this transaction ends."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace)
    await connection.execute(made.on_conflict_do_nothing())
    locked = _STORED.where(workspace_storage.c.workspace == workspace).with_for_update()
    return Stored(*(await connection.execute(locked)).one())


async def find_held(
    connection: AsyncConnection, workspace: str, wanted: Iterable[Content]
) -> frozenset[Content]:
    """Return those of the contents that the workspace holds already."""
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
    """Count what a checkpoint holds that its workspace, whose row is locked, did not hold yet."""
    given = {"tenant": tenant, "workspace": workspace, "checkpoint": checkpoint}
    await connection.execute(_HOLD, given)


async def release(connection: AsyncConnection, gone: Sequence[UUID]) -> None:
    """Let go what no checkpoint of their workspaces holds any more, now that these are deleted."""
    await connection.execute(_LOCK, {"gone": list(gone)})
    await connection.execute(_RELEASE, {"gone": list(gone)})


async def add_used(connection: AsyncConnection, tenant: UUID, workspace: str, more_bytes: int) -> None:
    """Count bytes that came, or went where negative."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace, used_bytes=more_bytes)
    used = workspace_storage.c.used_bytes + more_bytes
    await connection.execute(
        made.on_conflict_do_update(index_elements=["tenant", "workspace"], set_={"used_bytes": used})
    )


async def save_maximum(
    connection: AsyncConnection, tenant: UUID, workspace: str, maximum_bytes: int | None, version: int
) -> None:
    """Set what a workspace may have; an older word than the one known changes nothing."""
    made = insert(workspace_storage).values(tenant=tenant, workspace=workspace)
    await connection.execute(made.on_conflict_do_nothing())
    columns = workspace_storage.c
    newer = update(workspace_storage).where(
        columns.tenant == tenant, columns.workspace == workspace, columns.version < version
    )
    await connection.execute(newer.values(maximum_bytes=maximum_bytes, version=version))


_STORED = select(workspace_storage.c.used_bytes, workspace_storage.c.maximum_bytes)
_HOLD = text(
    "WITH made AS (INSERT INTO registry.workspace_objects (tenant, workspace, key, size_bytes)"
    " SELECT DISTINCT CAST(:tenant AS uuid), CAST(:workspace AS text), o.key, o.size_bytes FROM registry.checkpoint_files f"
    " JOIN registry.objects o ON o.key = f.key WHERE f.checkpoint = :checkpoint"
    " ON CONFLICT DO NOTHING RETURNING size_bytes)"
    " UPDATE registry.workspace_storage SET used_bytes = used_bytes + (SELECT coalesce(sum(size_bytes), 0) FROM made)"
    " WHERE tenant = :tenant AND workspace = :workspace"
)
_LOCK = text(
    "SELECT FROM registry.workspace_storage s WHERE (s.tenant, s.workspace) IN ("
    " SELECT e.tenant, e.workspace FROM registry.checkpoints c JOIN registry.experiments e ON e.id = c.experiment"
    " WHERE c.id = ANY(CAST(:gone AS uuid[]))) ORDER BY s.tenant, s.workspace FOR UPDATE"
)
_RELEASE = text(
    "WITH mine AS (SELECT DISTINCT e.tenant, e.workspace, f.key FROM registry.checkpoint_files f"
    " JOIN registry.checkpoints c ON c.id = f.checkpoint JOIN registry.experiments e ON e.id = c.experiment"
    " WHERE c.id = ANY(CAST(:gone AS uuid[]))),"
    " gone AS (DELETE FROM registry.workspace_objects w USING mine"
    " WHERE w.tenant = mine.tenant AND w.workspace = mine.workspace AND w.key = mine.key AND NOT EXISTS ("
    " SELECT 1 FROM registry.checkpoint_files f JOIN registry.checkpoints c ON c.id = f.checkpoint"
    " JOIN registry.experiments e ON e.id = c.experiment"
    " WHERE f.key = w.key AND c.state <> 'deleted' AND e.workspace = w.workspace)"
    " RETURNING w.tenant, w.workspace, w.size_bytes),"
    " summed AS (SELECT tenant, workspace, sum(size_bytes) AS size_bytes FROM gone GROUP BY tenant, workspace)"
    " UPDATE registry.workspace_storage s SET used_bytes = s.used_bytes - summed.size_bytes FROM summed"
    " WHERE s.tenant = summed.tenant AND s.workspace = summed.workspace"
)

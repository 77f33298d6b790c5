"""Checks storage limits of the tenant and of the experiment's workspace.

Checked when something is announced, and again under the row locks, the tenant's first, before it counts.
"""

from collections.abc import Collection, Iterable
from uuid import UUID

from services.registry.storage.limits import refuse_growth
from services.registry.storage.store import objects, tenants as storage, workspaces
from services.registry.storage.store.objects import Content
from shared.bus import Unit


async def refuse_contents(
    unit: Unit, tenant: UUID, experiment: UUID, contents: Iterable[Content], *, is_final: bool = False
) -> str | None:
    """Return why an experiment's contents exceed a limit; contents already stored count zero. `is_final` locks the rows."""
    wanted = set(contents)
    connection = unit.connection
    stored = await (storage.lock_stored if is_final else storage.load_stored)(connection, tenant)
    workspace = await workspaces.find_workspace(connection, experiment)
    if is_final and workspace is not None:
        await workspaces.lock_stored(connection, tenant, workspace)
    known = await objects.find_known(connection, wanted)
    full = refuse_growth(stored.used_bytes, _size_bytes(wanted - known.keys()), stored.maximum_bytes)
    if full is None and workspace is not None:
        of_workspace = await workspaces.load_stored(connection, workspace)
        held = frozenset[Content]()
        if of_workspace.maximum_bytes is not None:
            held = await workspaces.find_held(connection, workspace, wanted)
        more = _size_bytes(wanted - held)
        full = refuse_growth(of_workspace.used_bytes, more, of_workspace.maximum_bytes, workspace)
    return full.reason if full else None


async def refuse_bytes(
    unit: Unit, tenant: UUID, experiment: UUID, more_bytes: int, *, is_final: bool = False
) -> str | None:
    """Return the same for bytes that are never shared."""
    connection = unit.connection
    stored = await (storage.lock_stored if is_final else storage.load_stored)(connection, tenant)
    full = refuse_growth(stored.used_bytes, more_bytes, stored.maximum_bytes)
    workspace = await workspaces.find_workspace(connection, experiment)
    if full is None and workspace is not None:
        if is_final:
            of_workspace = await workspaces.lock_stored(connection, tenant, workspace)
        else:
            of_workspace = await workspaces.load_stored(connection, workspace)
        full = refuse_growth(of_workspace.used_bytes, more_bytes, of_workspace.maximum_bytes, workspace)
    return full.reason if full else None


def _size_bytes(contents: Collection[Content]) -> int:
    return sum(size for _, size in contents)

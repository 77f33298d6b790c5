"""Reads and writes quotas, and counts open experiments."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, not_, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment
from services.gateway.quotas.tables import quota

_SEEN = "muster.experiments"
"""Database setting that row-level security filters experiments by."""


async def load_quotas(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Load the quotas with any limit: by tenant, the tenant's own first, then its workspaces by name. The connection's role decides of which tenants."""
    order = (quota.c.tenant, quota.c.workspace)
    bounds = (quota.c.max_experiments, quota.c.requests_per_s, quota.c.max_stored_bytes)
    query = select(quota).where(or_(*(bound.is_not(None) for bound in bounds)))
    return (await connection.execute(query.order_by(*order))).all()


async def load_quota(connection: AsyncConnection, tenant: UUID, workspace: str) -> Row[Any] | None:
    """Load one quota; None if there is none."""
    query = select(quota).where(quota.c.tenant == tenant, quota.c.workspace == workspace)
    return (await connection.execute(query)).one_or_none()


async def load_rates(connection: AsyncConnection) -> dict[str, float]:
    """Load requests per second by workspace; "" is the whole tenant."""
    query = select(quota.c.workspace, quota.c.requests_per_s).where(quota.c.requests_per_s.is_not(None))
    return {row.workspace: row.requests_per_s for row in await connection.execute(query)}


async def count_open(connection: AsyncConnection, workspace: str | None = None) -> int:
    """Count the open experiments of the tenant or a workspace, including those that the caller may not read."""
    filtered_to = await connection.scalar(select(func.current_setting(_SEEN, True)))
    query = select(func.count()).select_from(experiment).where(not_(experiment.c.final))
    if workspace is not None:
        query = query.where(experiment.c.workspace == workspace)
    await connection.execute(select(func.set_config(_SEEN, "", True)))
    count: int = (await connection.execute(query)).scalar_one()
    await connection.execute(select(func.set_config(_SEEN, filtered_to or "", True)))
    return count


async def save_quota(connection: AsyncConnection, values: Mapping[str, Any]) -> int:
    """Insert a quota or replace the previous one. Return its new version; a quota without limits gets one too."""
    changed = {name: value for name, value in values.items() if name not in ("tenant", "workspace")}
    statement = (
        upsert(quota)
        .values(**values, version=1)
        .on_conflict_do_update(
            index_elements=["tenant", "workspace"], set_={**changed, "version": quota.c.version + 1}
        )
        .returning(quota.c.version)
    )
    version: int = (await connection.execute(statement)).scalar_one()
    return version

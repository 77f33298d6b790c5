"""Reads and writes the limits of tenants and workspaces in pools."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.pools.tables import limits


async def save_limit(connection: AsyncConnection, values: Mapping[str, Any]) -> int:
    """Insert a limit or replace the previous one. Return its new version."""
    changed = {name: values[name] for name in ("guaranteed", "maximum", "weight")}
    statement = (
        upsert(limits)
        .values(**values, version=1)
        .on_conflict_do_update(
            index_elements=["tenant", "workspace", "pool"], set_={**changed, "version": limits.c.version + 1}
        )
        .returning(limits.c.version)
    )
    version: int = (await connection.execute(statement)).scalar_one()
    return version


async def lock_limits(connection: AsyncConnection, tenant: UUID) -> None:
    """Lock the tenant's limits until the transaction ends, so that concurrent changes cannot exceed the tenant's guarantee together."""
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"limits:{tenant}", 0))))


async def load_limit(connection: AsyncConnection, values: Mapping[str, Any]) -> Row[Any] | None:
    """Load the limit of the given tenant, workspace and pool; None if there is none."""
    same = (limits.c[name] == values[name] for name in ("tenant", "workspace", "pool"))
    return (await connection.execute(select(limits).where(*same))).one_or_none()


async def load_limits(connection: AsyncConnection, pool: str | None) -> Sequence[Row[Any]]:
    """Load the limits that differ from the defaults. The connection's role decides of which tenants."""
    is_effective = (limits.c.guaranteed > 0) | limits.c.maximum.is_not(None) | (limits.c.weight != 1.0)
    query = select(limits).where(is_effective)
    if pool is not None:
        query = query.where(limits.c.pool == pool)
    order = (limits.c.pool, limits.c.tenant, limits.c.workspace)
    return (await connection.execute(query.order_by(*order))).all()

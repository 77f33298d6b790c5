"""Reads and writes the limits of tenants and workspaces in pools."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.pools.tables import slot_limit


async def save_limit(connection: AsyncConnection, values: Mapping[str, Any]) -> int:
    """Insert a limit or replace the previous one. Return its new version."""
    changed = {name: values[name] for name in ("guaranteed", "maximum", "weight")}
    statement = (
        upsert(slot_limit)
        .values(**values, version=1)
        .on_conflict_do_update(
            index_elements=["tenant", "workspace", "pool"],
            set_={**changed, "version": slot_limit.c.version + 1},
        )
        .returning(slot_limit.c.version)
    )
    version: int = (await connection.execute(statement)).scalar_one()
    return version


async def lock_limits(connection: AsyncConnection, tenant: UUID) -> None:
    """Lock the tenant's limits until the transaction ends, so that concurrent changes cannot exceed the tenant's guarantee together."""
    await connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"limits:{tenant}", 0))))


async def load_limit(connection: AsyncConnection, values: Mapping[str, Any]) -> Row[Any] | None:
    """Load the limit of the given tenant, workspace and pool; None if there is none."""
    same = (slot_limit.c[name] == values[name] for name in ("tenant", "workspace", "pool"))
    return (await connection.execute(select(slot_limit).where(*same))).one_or_none()


async def load_limits(connection: AsyncConnection, pool: str | None) -> Sequence[Row[Any]]:
    """Load the limits that differ from the defaults. The connection's role decides of which tenants."""
    is_effective = (
        (slot_limit.c.guaranteed > 0) | slot_limit.c.maximum.is_not(None) | (slot_limit.c.weight != 1.0)
    )
    query = select(slot_limit).where(is_effective)
    if pool is not None:
        query = query.where(slot_limit.c.pool == pool)
    order = (slot_limit.c.pool, slot_limit.c.tenant, slot_limit.c.workspace)
    return (await connection.execute(query.order_by(*order))).all()

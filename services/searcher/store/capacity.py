"""Pool capacity as reported by the scheduler, searches that it may widen, and budgets that are due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Select, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.search.widening import Idle
from services.searcher.store.tables import experiment, pool
from shared.ids import ExperimentId, PoolName, TenantId
from shared.messages.pools import PoolCapacity

_SEARCHES = select(experiment.c.tenant, experiment.c.id)
_DUE_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class SearchKey:
    """A search to widen, or whose budget is to be checked."""

    tenant: TenantId
    experiment: ExperimentId


async def save_capacity(connection: AsyncConnection, capacity: PoolCapacity) -> None:
    """Store a pool's capacity unless a newer version is stored."""
    values = {
        "version": capacity.version,
        "idle_slots": capacity.idle_slots,
        "waiting_slots": capacity.waiting_slots,
        "price_per_slot_hour": capacity.price_per_slot_hour,
    }
    keep = insert(pool).values(pool=capacity.pool, **values)
    await connection.execute(
        keep.on_conflict_do_update(
            index_elements=["pool"], set_=values, where=pool.c.version < capacity.version
        )
    )


async def take_changed_pools(connection: AsyncConnection) -> dict[PoolName, Idle]:
    """Return pools whose capacity was reported since the last call; each report is returned to one replica once."""
    take = (
        update(pool)
        .where(pool.c.used_version < pool.c.version)
        .values(used_version=pool.c.version)
        .returning(pool.c.pool, pool.c.idle_slots, pool.c.waiting_slots, pool.c.price_per_slot_hour)
    )
    return {
        PoolName(row.pool): Idle(row.idle_slots, row.waiting_slots, row.price_per_slot_hour)
        for row in await connection.execute(take)
    }


async def load_widening(connection: AsyncConnection, name: PoolName) -> Sequence[SearchKey]:
    """Return active searches of a pool that may be widened, by priority."""
    config = experiment.c.config
    query = _SEARCHES.where(
        experiment.c.state == "active",
        config["searcher", "widen_to"].astext.is_not(None),
        func.coalesce(config["resources", "resource_pool"].astext, "default") == name,
    )
    return await _load(
        connection,
        query.order_by(experiment.c.priority.nulls_last(), experiment.c.started_at, experiment.c.id),
    )


async def load_prices(connection: AsyncConnection) -> dict[PoolName, float]:
    """Return the hourly price of a slot for each pool with a price."""
    query = select(pool.c.pool, pool.c.price_per_slot_hour).where(pool.c.price_per_slot_hour.is_not(None))
    return {PoolName(row.pool): row.price_per_slot_hour for row in await connection.execute(query)}


async def load_costed(connection: AsyncConnection) -> Sequence[SearchKey]:
    """Return live searches with a cost limit."""
    has_limit = experiment.c.limits["cost"].astext.is_not(None)
    query = _SEARCHES.where(experiment.c.state.in_(("active", "paused", "stopping")), has_limit)
    return await _load(connection, query)


async def load_due(connection: AsyncConnection, now: datetime) -> Sequence[SearchKey]:
    """Return searches whose budget check is due, the longest overdue first."""
    query = _SEARCHES.where(experiment.c.due_at <= now).order_by(experiment.c.due_at)
    return await _load(connection, query.limit(_DUE_AT_ONCE))


async def load_next_due(connection: AsyncConnection) -> datetime | None:
    """Return when the next budget check is due; None if no search has a limit that comes closer with time alone."""
    query = select(func.min(experiment.c.due_at)).where(experiment.c.due_at.is_not(None))
    found: datetime | None = await connection.scalar(query)
    return found


async def _load(connection: AsyncConnection, query: Select[UUID, UUID]) -> Sequence[SearchKey]:
    found = await connection.execute(query)
    return [SearchKey(TenantId(tenant), ExperimentId(id_)) for tenant, id_ in found]

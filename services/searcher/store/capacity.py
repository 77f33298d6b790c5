"""What the scheduler has told of pools, which searches may be widened by it, and whose budget is due."""

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
    """A search that asks to be widened, or whose budget is to be looked at."""

    tenant: TenantId
    experiment: ExperimentId


async def save_capacity(connection: AsyncConnection, told: PoolCapacity) -> None:
    """Keeps the newest word on a pool."""
    values = {
        "version": told.version,
        "idle_slots": told.idle_slots,
        "waiting_slots": told.waiting_slots,
        "price_per_slot_hour": told.price_per_slot_hour,
    }
    keep = insert(pool).values(pool=told.pool, **values)
    await connection.execute(
        keep.on_conflict_do_update(index_elements=["pool"], set_=values, where=pool.c.version < told.version)
    )


async def take_changed_pools(connection: AsyncConnection) -> dict[PoolName, Idle]:
    """Pools of which something was told since they were last taken; each word is taken by one replica, once."""
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
    """Active searches of a pool that may be widened, the most important first."""
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
    """What a slot costs for an hour, of those pools whose price is known."""
    query = select(pool.c.pool, pool.c.price_per_slot_hour).where(pool.c.price_per_slot_hour.is_not(None))
    return {PoolName(row.pool): row.price_per_slot_hour for row in await connection.execute(query)}


async def load_costed(connection: AsyncConnection) -> Sequence[SearchKey]:
    """Searches under way that have a limit of cost."""
    has_limit = experiment.c.terms["cost"].astext.is_not(None)
    query = _SEARCHES.where(experiment.c.state.in_(("active", "paused", "stopping")), has_limit)
    return await _load(connection, query)


async def load_due(connection: AsyncConnection, now: datetime) -> Sequence[SearchKey]:
    """Searches whose budget must be looked at by now, the longest due first."""
    query = _SEARCHES.where(experiment.c.due_at <= now).order_by(experiment.c.due_at)
    return await _load(connection, query.limit(_DUE_AT_ONCE))


async def load_next_due(connection: AsyncConnection) -> datetime | None:
    """When the next budget must be looked at; None where no search has a limit that time alone brings nearer."""
    query = select(func.min(experiment.c.due_at)).where(experiment.c.due_at.is_not(None))
    found: datetime | None = await connection.scalar(query)
    return found


async def _load(connection: AsyncConnection, query: Select[UUID, UUID]) -> Sequence[SearchKey]:
    found = await connection.execute(query)
    return [SearchKey(TenantId(tenant), ExperimentId(id_)) for tenant, id_ in found]

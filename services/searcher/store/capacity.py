"""What the scheduler has told of pools, which searches may be widened by it, and whose budget is due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.widening import Idle
from shared.driver import Driver
from shared.ids import ExperimentId, PoolName, TenantId
from shared.messages.pools import PoolCapacity

_KEEP = (
    "INSERT INTO searcher.pool AS p (pool, version, idle_slots, waiting_slots, price_per_slot_hour)"
    " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (pool) DO UPDATE"
    " SET version = excluded.version, idle_slots = excluded.idle_slots, waiting_slots = excluded.waiting_slots,"
    " price_per_slot_hour = excluded.price_per_slot_hour"
    " WHERE p.version < excluded.version"
)
_TAKE = (
    "UPDATE searcher.pool SET used_version = version WHERE used_version < version"
    " RETURNING pool, idle_slots, waiting_slots, price_per_slot_hour"
)
_WIDENING = (
    "SELECT tenant, id FROM searcher.experiment WHERE state = 'active' AND config #>> '{searcher,widen_to}' IS NOT NULL"
    " AND coalesce(config #>> '{resources,resource_pool}', 'default') = $1 ORDER BY priority NULLS LAST, started_at, id"
)
_PRICES = text("SELECT pool, price_per_slot_hour FROM searcher.pool WHERE price_per_slot_hour IS NOT NULL")
_COSTED = text(
    "SELECT tenant, id FROM searcher.experiment WHERE state IN ('active', 'paused', 'stopping')"
    " AND terms ->> 'cost' IS NOT NULL"
)
_DUE = text("SELECT tenant, id FROM searcher.experiment WHERE due_at <= :now ORDER BY due_at LIMIT 100")
_NEXT_DUE = text("SELECT min(due_at) FROM searcher.experiment WHERE due_at IS NOT NULL")


@dataclass(frozen=True, slots=True)
class Searching:
    """A search that asks to be widened, or whose budget is to be looked at."""

    tenant: TenantId
    experiment: ExperimentId


async def keep_capacity(connection: AsyncConnection, told: PoolCapacity) -> None:
    """Keeps the newest word on a pool."""
    waits = told.idle_slots, told.waiting_slots
    await Driver.of(connection).fetch(_KEEP, told.pool, told.version, *waits, told.price_per_slot_hour)


async def take_news(connection: AsyncConnection) -> dict[PoolName, Idle]:
    """Pools of which something was told since they were last taken; each word is taken by one replica, once."""
    found = await Driver.of(connection).fetch(_TAKE)
    return {
        PoolName(row["pool"]): Idle(row["idle_slots"], row["waiting_slots"], row["price_per_slot_hour"])
        for row in found
    }


async def load_widening(connection: AsyncConnection, pool: PoolName) -> Sequence[Searching]:
    """Active searches of a pool that may be widened, the most important first."""
    found = await Driver.of(connection).fetch(_WIDENING, pool)
    return [Searching(TenantId(row["tenant"]), ExperimentId(row["id"])) for row in found]


async def load_prices(connection: AsyncConnection) -> dict[PoolName, float]:
    """What a slot costs for an hour, of those pools whose price is known."""
    found = await connection.execute(_PRICES)
    return {PoolName(row.pool): row.price_per_slot_hour for row in found}


async def load_costed(connection: AsyncConnection) -> Sequence[Searching]:
    """Searches under way that have a limit of cost."""
    found = await connection.execute(_COSTED)
    return [Searching(TenantId(row.tenant), ExperimentId(row.id)) for row in found]


async def load_due(connection: AsyncConnection, now: datetime) -> Sequence[Searching]:
    """Searches whose budget must be looked at by now, the longest due first."""
    found = await connection.execute(_DUE, {"now": now})
    return [Searching(TenantId(row.tenant), ExperimentId(row.id)) for row in found]


async def load_next_due(connection: AsyncConnection) -> datetime | None:
    """When the next budget must be looked at; None where no search has a limit that time alone brings nearer."""
    found: datetime | None = await connection.scalar(_NEXT_DUE)
    return found

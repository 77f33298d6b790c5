"""Programs that drive searches: when each was last heard, how far it has read, and which stay away."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from shared.ids import ExperimentId, TenantId

_LOAD = text("SELECT name, seen_at, acknowledged FROM searcher.driver WHERE experiment = :experiment")
_SEE = text(
    "INSERT INTO searcher.driver AS d (tenant, experiment, name, seen_at, acknowledged)"
    " VALUES (:tenant, :experiment, :name, :now, :acknowledged) ON CONFLICT (experiment) DO UPDATE"
    " SET name = coalesce(excluded.name, d.name), seen_at = excluded.seen_at,"
    " acknowledged = greatest(d.acknowledged, excluded.acknowledged)"
    " WHERE d.seen_at < excluded.seen_at - interval '1 second' OR d.name IS DISTINCT FROM excluded.name"
    " OR d.acknowledged < excluded.acknowledged"
)
_AWAY = text(
    "SELECT e.tenant, e.id, (e.config #>> '{searcher,driver_timeout}')::float8 AS timeout_s FROM searcher.experiment e LEFT JOIN searcher.driver d ON d.experiment = e.id"
    " WHERE e.state = 'active' AND e.config #>> '{searcher,driver_timeout}' IS NOT NULL"
    " AND greatest(d.seen_at, e.started_at, (SELECT at FROM searcher.journal j WHERE j.experiment = e.id"
    " ORDER BY position DESC LIMIT 1)) < CAST(:now AS timestamptz) - (e.config #>> '{searcher,driver_timeout}')::float8 * interval '1 second'"
)


@dataclass(frozen=True, slots=True)
class Driver:
    """A program as it was last heard; without a name where it gave none, or where none was heard yet."""

    name: str | None = None
    seen_at: datetime | None = None
    acknowledged: int = 0


@dataclass(frozen=True, slots=True)
class Undriven:
    """A search whose program is away for longer than its config allows."""

    tenant: TenantId
    experiment: ExperimentId
    timeout_s: float


async def load_driver(connection: AsyncConnection, experiment: ExperimentId) -> Driver:
    """Who drives the search, as far as is known."""
    row = (await connection.execute(_LOAD, {"experiment": experiment})).first()
    return Driver(row.name, row.seen_at, row.acknowledged) if row else Driver()


async def save_driver(
    connection: AsyncConnection, tenant: TenantId, experiment: ExperimentId, driver: Driver
) -> None:
    """Notes that a program was heard, and what it acknowledges; that never falls."""
    row = {"name": driver.name, "now": driver.seen_at, "acknowledged": driver.acknowledged}
    await connection.execute(_SEE, {"tenant": tenant, "experiment": experiment, **row})


async def load_undriven(connection: AsyncConnection, now: datetime) -> Sequence[Undriven]:
    """Active searches in which for as long as their `driver_timeout` no program was heard, and nothing happened."""
    found = await connection.execute(_AWAY, {"now": now})
    return [Undriven(TenantId(row.tenant), ExperimentId(row.id), row.timeout_s) for row in found]

"""Holdings long after: what was used lately, for a leader that begins, and the end of those that nobody asks for any more."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.shares import Path
from shared.ids import ExperimentId, PoolName, TenantId

_HALF_LIVES = 10
"""What was used longer ago counts less than a thousandth."""
_BATCH = 2000
_AVERAGES = text(
    "SELECT tenant, workspace, owner, experiment, sum(CAST(slots AS double precision)"
    " * (power(0.5, extract(epoch FROM :now - least(coalesce(until, :now), :now)) / :half_life_s)"
    " - power(0.5, extract(epoch FROM :now - greatest(since, :oldest)) / :half_life_s))) AS average"
    " FROM scheduler.holding WHERE pool = :pool AND (until > :oldest OR until IS NULL) AND since < :now"
    " GROUP BY tenant, workspace, owner, experiment"
)
_DROP = text(
    "DELETE FROM scheduler.holding WHERE ctid = ANY(ARRAY(SELECT ctid FROM scheduler.holding"
    " WHERE until < :before ORDER BY until LIMIT :most FOR UPDATE SKIP LOCKED))"
)


async def load_averages(
    connection: AsyncConnection, pool: PoolName, half_life: timedelta, now: datetime
) -> Iterator[tuple[Path, float]]:
    """Each experiment's average of slots held up to now, an older time counting less: (ln 2 / h) ∫ held(t) 2^((t - now) / h) dt."""
    times = {
        "pool": pool,
        "half_life_s": half_life.total_seconds(),
        "oldest": now - _HALF_LIVES * half_life,
        "now": now,
    }
    found = await connection.execute(_AVERAGES, times)
    return (
        ((TenantId(row.tenant), row.workspace, row.owner, ExperimentId(row.experiment)), float(row.average))
        for row in found
    )


async def drop_holdings(connection: AsyncConnection, before: datetime) -> bool:
    """Deletes the oldest of what ended before; True: there may be more."""
    dropped = await connection.execute(_DROP, {"before": before, "most": _BATCH})
    return dropped.rowcount == _BATCH

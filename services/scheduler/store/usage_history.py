"""Past usage: averages for a new leader's fair shares, and deletion of old entries."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Double,
    cast,
    delete,
    extract,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from services.scheduler.core.state.records.pool import Path
from services.scheduler.store.tables import usage_entry
from shared.database.statements import ctid, listed
from shared.ids import ExperimentId, PoolName, TenantId

_HALF_LIVES = 10
"""Older usage counts less than a thousandth."""
_BATCH = 2000


async def load_averages(
    connection: AsyncConnection, pool: PoolName, half_life: timedelta, now: datetime
) -> Iterator[tuple[Path, float]]:
    """Return each experiment's decayed average of slots held: (ln 2 / h) ∫ held(t) 2^((t - now) / h) dt."""
    here, at = usage_entry.c, literal(now, DateTime(timezone=True))
    oldest = now - _HALF_LIVES * half_life
    until = func.least(func.coalesce(here.until, at), at)
    since = func.greatest(here.since, literal(oldest, DateTime(timezone=True)))
    weight = _halved(at - until, half_life) - _halved(at - since, half_life)
    path = (here.tenant, here.workspace, here.owner, here.experiment)
    query = (
        select(*path, func.sum(cast(here.slots, Double) * weight).label("average"))
        .where(here.pool == pool, or_(here.until > oldest, here.until.is_(None)), here.since < now)
        .group_by(*path)
    )
    return (
        ((TenantId(row.tenant), row.workspace, row.owner, ExperimentId(row.experiment)), float(row.average))
        for row in await connection.execute(query)
    )


async def drop_usage_entries(connection: AsyncConnection, before: datetime) -> bool:
    """Delete the oldest entries that ended before this time; True: there may be more."""
    old = (
        select(ctid)
        .select_from(usage_entry)
        .where(usage_entry.c.until < before)
        .order_by(usage_entry.c.until)
    )
    some = old.limit(_BATCH).with_for_update(skip_locked=True)
    return (await connection.execute(delete(usage_entry).where(listed(some)))).rowcount == _BATCH


def _halved(age: ColumnElement[Any], half_life: timedelta) -> ColumnElement[float]:
    """The weight of a slot held this long ago."""
    return func.power(0.5, extract("epoch", age) / literal(half_life.total_seconds(), Double), type_=Double)

"""The ledger, read: what machines have cost, and how long they took to come."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import DateTime, column, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.provisioner.store.tables import instance
from shared.ids import PoolName, WorkerId
from shared.messages.machine_pools import Spending

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ProvidedWorkers:
    """Workers that a provider's machines brought; `boot_s`: the median of all so far, None where none has come."""

    workers: tuple[WorkerId, ...]
    boot_s: float | None


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Instance hours of a pool."""

    pool: PoolName
    instances: int
    hours: float
    cost: float


async def load_provided_workers(connection: AsyncConnection, pool: PoolName) -> ProvidedWorkers:
    """The workers that have come and not gone, and how long machines took from their launch until then."""
    took = func.extract("epoch", instance.c.ready_at - instance.c.launched_at)
    statement = select(
        func.array_agg(instance.c.worker).filter(instance.c.ended_at.is_(None)).label("workers"),
        func.percentile_cont(0.5).within_group(took).label("boot_s"),
    ).where(instance.c.pool == pool, instance.c.ready_at.is_not(None))
    row = (await connection.execute(statement)).one()
    return ProvidedWorkers(
        tuple(map(WorkerId, row.workers or ())), None if row.boot_s is None else float(row.boot_s)
    )


async def load_used(connection: AsyncConnection, since: datetime | None, now: datetime) -> list[PoolUsage]:
    """Instance hours and cost of each pool from `since` until now, by pool; machines count from their launch to their end."""
    begun = func.greatest(instance.c.launched_at, since) if since else instance.c.launched_at
    hours = func.extract("epoch", func.coalesce(instance.c.ended_at, now) - begun) / 3600.0
    statement = (
        select(
            instance.c.pool,
            func.count().label("instances"),
            func.sum(hours).label("hours"),
            func.sum(hours * instance.c.price_per_hour).label("cost"),
        )
        .where(instance.c.launched_at.is_not(None))
        .group_by(instance.c.pool)
        .order_by(instance.c.pool)
    )
    if since is not None:
        statement = statement.where((instance.c.ended_at.is_(None)) | (instance.c.ended_at > since))
    return [
        PoolUsage(PoolName(row.pool), row.instances, float(row.hours), float(row.cost))
        for row in await connection.execute(statement)
    ]


async def load_spent(connection: AsyncConnection, since: datetime, now: datetime) -> dict[PoolName, float]:
    """What each pool's machines have cost since then, those that are being made reckoned from when they were wanted."""
    begun = func.greatest(func.coalesce(instance.c.launched_at, instance.c.since), since)
    ended = func.coalesce(instance.c.ended_at, now)
    hours = func.greatest(func.extract("epoch", ended - begun), 0) / 3600.0
    statement = (
        select(instance.c.pool, func.sum(hours * instance.c.price_per_hour).label("spent"))
        .where(instance.c.ended_at.is_(None) | (instance.c.ended_at > since))
        .where(instance.c.launched_at.is_not(None) | instance.c.ended_at.is_(None))
        .group_by(instance.c.pool)
    )
    return {PoolName(row.pool): float(row.spent) for row in await connection.execute(statement)}


async def load_spending(connection: AsyncConnection, since: datetime, until: datetime) -> list[Spending]:
    """The ledger between two moments by day, pool, kind and purchase, in that order; a machine counts on each day that it stood."""
    series = func.generate_series(since, until - _MOMENT, timedelta(days=1))
    days = series.table_valued(column("day", DateTime(timezone=True))).render_derived(name="days")
    begun = func.greatest(instance.c.launched_at, days.c.day)
    ended = func.least(func.coalesce(instance.c.ended_at, until), days.c.day + timedelta(days=1), until)
    hours = func.extract("epoch", ended - begun) / 3600.0
    keys = (days.c.day, instance.c.pool, instance.c.machine_kind, instance.c.purchase)
    statement = (
        select(
            *keys,
            func.count().label("instances"),
            func.sum(hours).label("hours"),
            func.sum(hours * instance.c.slots).label("slot_hours"),
            func.sum(hours * instance.c.price_per_hour).label("cost"),
        )
        .select_from(days)
        .join(instance, (instance.c.launched_at < ended) & (begun < ended))
        .group_by(*keys)
        .order_by(*keys)
    )
    return [
        Spending(
            day=row.day.astimezone(UTC).date(),
            pool=PoolName(row.pool),
            kind=row.machine_kind,
            purchase=row.purchase,
            instances=row.instances,
            hours=float(row.hours),
            slot_hours=float(row.slot_hours),
            cost=float(row.cost),
        )
        for row in await connection.execute(statement)
    ]

"""Read the cost ledger: costs of machines, and how long they took to join."""

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
    """Workers of a provider's machines. `boot_s` is the median boot time so far, None if no machine has joined."""

    workers: tuple[WorkerId, ...]
    boot_s: float | None


@dataclass(frozen=True, slots=True)
class PoolUsage:
    """Instance hours and cost of a pool."""

    pool: PoolName
    instances: int
    hours: float
    cost: float


async def load_provided_workers(connection: AsyncConnection, pool: PoolName) -> ProvidedWorkers:
    """Return the workers that have joined and not ended, and the median time from launch to join."""
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
    """Return instance hours and cost of each pool from `since` until now. Machines count from launch to end."""
    started = func.greatest(instance.c.launched_at, since) if since else instance.c.launched_at
    hours = func.extract("epoch", func.coalesce(instance.c.ended_at, now) - started) / 3600.0
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
    """Return the cost of each pool's machines since then. Machines being launched count from when they were requested."""
    started = func.greatest(func.coalesce(instance.c.launched_at, instance.c.since), since)
    ended = func.coalesce(instance.c.ended_at, now)
    hours = func.greatest(func.extract("epoch", ended - started), 0) / 3600.0
    statement = (
        select(instance.c.pool, func.sum(hours * instance.c.price_per_hour).label("spent"))
        .where(instance.c.ended_at.is_(None) | (instance.c.ended_at > since))
        .where(instance.c.launched_at.is_not(None) | instance.c.ended_at.is_(None))
        .group_by(instance.c.pool)
    )
    return {PoolName(row.pool): float(row.spent) for row in await connection.execute(statement)}


async def load_spending(connection: AsyncConnection, since: datetime, until: datetime) -> list[Spending]:
    """Return the ledger of a period by day, pool, kind and purchase, in that order. A machine counts on each day that it existed."""
    series = func.generate_series(since, until - _MOMENT, timedelta(days=1))
    days = series.table_valued(column("day", DateTime(timezone=True))).render_derived(name="days")
    started = func.greatest(instance.c.launched_at, days.c.day)
    ended = func.least(func.coalesce(instance.c.ended_at, until), days.c.day + timedelta(days=1), until)
    hours = func.extract("epoch", ended - started) / 3600.0
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
        .join(instance, (instance.c.launched_at < ended) & (started < ended))
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

"""Tables and queries of the provisioner. Everything belongs to the site, so all of it is read and written by the system role."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    Uuid,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB, insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.provisioner.core.instance import Instance, State
from services.provisioner.core.sizing import Demand, Policy
from shared.ids import InstanceId, PoolName, WorkerId
from shared.messages.pools import PoolDemand
from shared.messages.specs import SlotKind

METADATA = MetaData(schema="provisioner")
_TIME = DateTime(timezone=True)
instance = Table(
    "instance",
    METADATA,
    Column("id", Uuid, primary_key=True),
    Column("pool", Text),
    Column("worker", Text),
    Column("driver", Text),
    Column("seat", Integer),
    Column("slots", Integer),
    Column("kind", Text),
    Column("price_per_hour", Float),
    Column("state", Text),
    Column("since", _TIME),
    Column("version", BigInteger),
    Column("reason", Text),
    Column("ending", Text),
    Column("attempts", Integer),
    Column("retry_at", _TIME),
    Column("is_open", Boolean),
    Column("worker_version", BigInteger),
    Column("launched_at", _TIME),
    Column("ready_at", _TIME),
    Column("ended_at", _TIME),
    Column("silent_since", _TIME),
    Column("intent", Uuid),
    Column("machine_kind", Text),
    Column("zone", Text),
    Column("purchase", Text),
    Column("external_id", Text),
)
provider = Table(
    "provider",
    METADATA,
    Column("pool", Text, primary_key=True),
    Column("version", BigInteger),
    Column("driver", Text),
    Column("minimum", Integer),
    Column("maximum", Integer),
    Column("slots_per_instance", Integer),
    Column("slot_kind", Text),
    Column("labels", JSONB),
    Column("price_per_slot_hour", Float),
    Column("instances", Integer),
    Column("fault", Text),
    Column("failures", Integer),
    Column("retry_at", _TIME),
    Column("demand_version", BigInteger),
    Column("waiting", Integer),
    Column("idle", Integer),
    Column("soon", Integer),
    Column("kind", Text),
    Column("heard_at", _TIME),
)
_FIELDS = tuple(field.name for field in fields(Instance))


@dataclass(frozen=True, slots=True)
class Standing:
    """Workers that a provider's machines brought; `boot_s`: the median of all so far, None where none has come."""

    workers: tuple[WorkerId, ...]
    boot_s: float | None


@dataclass(frozen=True, slots=True)
class Provider:
    """A pool as its provider has told it, and what holds back launches there."""

    pool: PoolName
    version: int
    driver: str
    minimum: int
    maximum: int
    slots_per_instance: int
    slot_kind: SlotKind | None
    labels: dict[str, str]
    price_per_slot_hour: float | None
    instances: int
    fault: str | None
    failures: int
    retry_at: datetime | None
    demand: Demand


@dataclass(frozen=True, slots=True)
class Used:
    """Instance hours of a pool."""

    pool: PoolName
    instances: int
    hours: float
    cost: float


async def seed_provider(connection: AsyncConnection, policy: Policy) -> None:
    """Makes the pool's row unless it is there; version 0 was never told."""
    values = {
        "pool": policy.pool,
        "version": 0,
        "driver": policy.driver,
        "minimum": policy.minimum,
        "maximum": policy.maximum,
        "slots_per_instance": policy.slots_per_instance,
        "slot_kind": policy.kind,
        "labels": dict(policy.labels),
        "price_per_slot_hour": policy.price_per_slot_hour,
        "instances": 0,
    }
    await connection.execute(upsert(provider).values(values).on_conflict_do_nothing())


async def load_provider(connection: AsyncConnection, pool: PoolName) -> Provider:
    return _provider_of((await connection.execute(select(provider).where(provider.c.pool == pool))).one())


async def change_provider(connection: AsyncConnection, pool: PoolName, **values: Any) -> Provider:
    """Changes what is told of a pool; the version rises."""
    statement = (
        update(provider)
        .where(provider.c.pool == pool)
        .values(version=provider.c.version + 1, **values)
        .returning(*provider.c)
    )
    return _provider_of((await connection.execute(statement)).one())


async def clear_fault(connection: AsyncConnection, pool: PoolName) -> Provider | None:
    """A machine works: launches are no longer held back. None where nothing held them back."""
    statement = (
        update(provider)
        .where(provider.c.pool == pool, provider.c.failures > 0)
        .values(version=provider.c.version + 1, fault=None, failures=0, retry_at=None)
        .returning(*provider.c)
    )
    row = (await connection.execute(statement)).one_or_none()
    return _provider_of(row) if row else None


async def save_demand(connection: AsyncConnection, demand: PoolDemand, now: datetime) -> bool:
    """Keeps the newest demand; False where it is older than what is known, or of a pool that is not ours."""
    values = {
        "demand_version": demand.version,
        "waiting": demand.waiting_slots,
        "idle": demand.idle_slots,
        "soon": demand.soon_slots,
        "kind": demand.slot_kind,
        "heard_at": now,
    }
    statement = (
        update(provider)
        .where(provider.c.pool == demand.pool, provider.c.demand_version < demand.version)
        .values(values)
    )
    return (await connection.execute(statement)).rowcount > 0


async def load_live(connection: AsyncConnection, pool: PoolName) -> list[Instance]:
    """The instances that have not ended, oldest first."""
    found = await connection.execute(
        select(instance).where(instance.c.pool == pool, instance.c.ended_at.is_(None)).order_by(instance.c.id)
    )
    return [_instance_of(row) for row in found]


async def lock_by_workers(connection: AsyncConnection, workers: Collection[WorkerId]) -> list[Instance]:
    """The instances of these workers, for a change in this transaction, by id."""
    statement = (
        select(instance).where(instance.c.worker.in_(workers)).order_by(instance.c.id).with_for_update()
    )
    return [_instance_of(row) for row in await connection.execute(statement)]


async def lock_live(connection: AsyncConnection, ids: Collection[InstanceId]) -> list[Instance]:
    """Those of the instances that have not ended, for a change in this transaction, by id."""
    statement = (
        select(instance)
        .where(instance.c.id.in_(ids), instance.c.ended_at.is_(None))
        .order_by(instance.c.id)
        .with_for_update()
    )
    return [_instance_of(row) for row in await connection.execute(statement)]


async def load_ended_among(connection: AsyncConnection, workers: Collection[WorkerId]) -> Sequence[WorkerId]:
    """Which of these workers belong to instances that have ended."""
    statement = select(instance.c.worker).where(
        instance.c.worker.in_(workers), instance.c.ended_at.is_not(None)
    )
    return [WorkerId(row.worker) for row in await connection.execute(statement)]


async def save_new(connection: AsyncConnection, instances: Sequence[Instance]) -> None:
    if instances:
        await connection.execute(insert(instance), [_row_of(one) for one in instances])


async def save_change(connection: AsyncConnection, before: Instance, after: Instance) -> bool:
    """False: it has changed meanwhile, and nothing was written."""
    statement = (
        update(instance)
        .where(instance.c.id == before.id, instance.c.version == before.version)
        .values(_row_of(after))
    )
    return (await connection.execute(statement)).rowcount > 0


async def load_standing(connection: AsyncConnection, pool: PoolName) -> Standing:
    """The workers that have come and not gone, and how long machines took from their launch until then."""
    took = func.extract("epoch", instance.c.ready_at - instance.c.launched_at)
    statement = select(
        func.array_agg(instance.c.worker).filter(instance.c.ended_at.is_(None)).label("workers"),
        func.percentile_cont(0.5).within_group(took).label("boot_s"),
    ).where(instance.c.pool == pool, instance.c.ready_at.is_not(None))
    row = (await connection.execute(statement)).one()
    return Standing(
        tuple(map(WorkerId, row.workers or ())), None if row.boot_s is None else float(row.boot_s)
    )


async def load_used(connection: AsyncConnection, since: datetime | None, now: datetime) -> list[Used]:
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
        Used(PoolName(row.pool), row.instances, float(row.hours), float(row.cost))
        for row in await connection.execute(statement)
    ]


def _provider_of(row: Row[Any]) -> Provider:
    return Provider(
        pool=PoolName(row.pool),
        version=row.version,
        driver=row.driver,
        minimum=row.minimum,
        maximum=row.maximum,
        slots_per_instance=row.slots_per_instance,
        slot_kind=row.slot_kind,
        labels=dict(row.labels),
        price_per_slot_hour=row.price_per_slot_hour,
        instances=row.instances,
        fault=row.fault,
        failures=row.failures,
        retry_at=row.retry_at,
        demand=Demand(row.waiting, row.idle, row.soon, row.kind, row.heard_at),
    )


def _instance_of(row: Row[Any]) -> Instance:
    values = {name: getattr(row, name) for name in _FIELDS}
    return Instance(**(values | {"state": State(row.state)}))


def _row_of(one: Instance) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _FIELDS}

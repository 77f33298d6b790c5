"""The published state of each pool, its definition, and its newest demand."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, null, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.provisioner.core.planning.pool_status import Demand
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.store.tables import provider
from shared.ids import PoolName
from shared.messages.machine_pools import PoolDefinition
from shared.messages.pools import PoolDemand
from shared.messages.trial_specs import SlotKind


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A pool as it was last published.

    Attributes:
        definition: None if the process's settings define it.
        is_closing: Whether it is removed with its last machine.
    """

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
    demand: Demand
    definition: PoolDefinition | None = None
    is_closing: bool = False


def published_fields(spec: PoolSpec) -> dict[str, Any]:
    """Return the published fields that follow from a pool's definition alone."""
    return {
        "driver": spec.driver,
        "minimum": spec.minimum,
        "maximum": spec.maximum,
        "slots_per_instance": spec.slots_per_instance,
        "slot_kind": spec.kind,
        "labels": dict(spec.labels),
        "price_per_slot_hour": spec.price_per_slot_hour,
    }


async def seed_provider(connection: AsyncConnection, spec: PoolSpec) -> None:
    """Create the row of the settings' pool unless it exists; version 0 was never published."""
    values = {"pool": spec.pool, "version": 0, "instances": 0, **published_fields(spec)}
    await connection.execute(upsert(provider).values(values).on_conflict_do_nothing())


async def save_pool(connection: AsyncConnection, spec: PoolSpec, definition: PoolDefinition) -> PoolRecord:
    """Define or redefine a pool, with a new version. Its machines stay."""
    defined = {
        **published_fields(spec),
        "definition": definition.model_dump(mode="json"),
        "is_closing": False,
    }
    risen = {**defined, "version": provider.c.version + 1}
    statement = upsert(provider).values(pool=spec.pool, version=1, instances=0, **defined)
    found = await connection.execute(
        statement.on_conflict_do_update(index_elements=["pool"], set_=risen).returning(*provider.c)
    )
    return _provider_of(found.one())


async def close_pool(connection: AsyncConnection, pool: PoolName) -> PoolRecord | None:
    """Drain all machines of a pool, with a new version. Returns None if it does not exist or the settings define it."""
    statement = update(provider).where(provider.c.pool == pool, provider.c.definition.is_not(None))
    values = {"is_closing": True, "minimum": 0, "maximum": 0, "version": provider.c.version + 1}
    found = await connection.execute(statement.values(values).returning(*provider.c))
    row = found.one_or_none()
    return None if row is None else _provider_of(row)


async def drop_pool(connection: AsyncConnection, pool: PoolName) -> None:
    """Remove the definition of a closed pool.

    Its row stays, so that versions keep rising if the name is used again, and its instances stay in the ledger.
    """
    statement = update(provider).where(provider.c.pool == pool, provider.c.is_closing)
    await connection.execute(statement.values(definition=null()))


async def load_providers(connection: AsyncConnection) -> list[PoolRecord]:
    """Return all pools, by name."""
    return [_provider_of(row) for row in await connection.execute(select(provider).order_by(provider.c.pool))]


async def change_provider(connection: AsyncConnection, pool: PoolName, **values: Any) -> PoolRecord:
    """Change published fields of a pool, with a new version."""
    statement = (
        update(provider)
        .where(provider.c.pool == pool)
        .values(version=provider.c.version + 1, **values)
        .returning(*provider.c)
    )
    return _provider_of((await connection.execute(statement)).one())


async def save_demand(connection: AsyncConnection, demand: PoolDemand, now: datetime) -> bool:
    """Store the newest demand. Returns False if a newer one is stored or the pool is not ours."""
    values = {
        "demand_version": demand.version,
        "waiting_slots": demand.waiting_slots,
        "idle_slots": demand.idle_slots,
        "soon_slots": demand.soon_slots,
        "demand_slot_kind": demand.slot_kind,
        "largest_single_node": demand.largest_single_node,
        "single_node_sizes": [list(size) for size in demand.single_node_sizes],
        "unaffordable_slots": demand.unaffordable_slots,
        "demand_received_at": now,
    }
    statement = (
        update(provider)
        .where(provider.c.pool == demand.pool, provider.c.demand_version < demand.version)
        .values(values)
    )
    return (await connection.execute(statement)).rowcount > 0


def _provider_of(row: Row[Any]) -> PoolRecord:
    return PoolRecord(
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
        demand=_demand_of(row),
        definition=PoolDefinition.model_validate(row.definition) if row.definition is not None else None,
        is_closing=row.is_closing,
    )


def _demand_of(row: Row[Any]) -> Demand:
    return Demand(
        waiting=row.waiting_slots,
        idle=row.idle_slots,
        soon=row.soon_slots,
        kind=row.demand_slot_kind,
        received_at=row.demand_received_at,
        largest=row.largest_single_node,
        sizes=tuple((size, count) for size, count in row.single_node_sizes),
        unaffordable=row.unaffordable_slots,
    )

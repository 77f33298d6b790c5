"""Records of instances. Rows stay after the end as the cost ledger."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.provisioner.core.instances.instance import Instance, InstanceState, IntentId
from services.provisioner.core.planning.orphans import Bill
from services.provisioner.store.tables import instance
from shared.ids import InstanceId, WorkerId

_FIELDS = tuple(field.name for field in fields(Instance))
# An intent's id encodes when it was created; an instance's id derives from it. Older rows have independent ids and no
# intent.
_AGE = (func.coalesce(instance.c.intent, instance.c.id), instance.c.pool_index)


async def load_live(connection: AsyncConnection) -> list[Instance]:
    """Return the live instances of all pools, oldest first."""
    statement = select(instance).where(instance.c.ended_at.is_(None)).order_by(*_AGE)
    return [_instance_of(row) for row in await connection.execute(statement)]


async def load_intent(connection: AsyncConnection, intent: IntentId) -> list[Instance]:
    """Return all instances of a launch in its order, including ended ones."""
    statement = select(instance).where(instance.c.intent == intent).order_by(instance.c.pool_index)
    return [_instance_of(row) for row in await connection.execute(statement)]


async def load_by_worker(connection: AsyncConnection, worker: WorkerId) -> Instance | None:
    row = (await connection.execute(select(instance).where(instance.c.worker == worker))).one_or_none()
    return None if row is None else _instance_of(row)


async def lock_by_workers(connection: AsyncConnection, workers: Collection[WorkerId]) -> list[Instance]:
    """Lock and return the instances of these workers, by id."""
    statement = (
        select(instance).where(instance.c.worker.in_(workers)).order_by(instance.c.id).with_for_update()
    )
    return [_instance_of(row) for row in await connection.execute(statement)]


async def lock_live(connection: AsyncConnection, ids: Collection[InstanceId]) -> list[Instance]:
    """Lock and return those of the instances that have not ended, by id."""
    statement = (
        select(instance)
        .where(instance.c.id.in_(ids), instance.c.ended_at.is_(None))
        .order_by(instance.c.id)
        .with_for_update()
    )
    return [_instance_of(row) for row in await connection.execute(statement)]


async def load_bills(connection: AsyncConnection, workers: Collection[WorkerId]) -> dict[WorkerId, Bill]:
    """Return the billing periods of those of the workers whose instances have ended."""
    columns = (instance.c.worker, instance.c.external_id, instance.c.launched_at, instance.c.ended_at)
    statement = select(*columns).where(instance.c.worker.in_(workers), instance.c.ended_at.is_not(None))
    return {
        WorkerId(row.worker): Bill(row.external_id, row.launched_at, row.ended_at)
        for row in await connection.execute(statement)
    }


async def correct_bill(connection: AsyncConnection, worker: WorkerId, bill: Bill) -> None:
    """Set the billing period of an ended machine to the provider's."""
    statement = update(instance).where(instance.c.worker == worker, instance.c.ended_at.is_not(None))
    await connection.execute(statement.values(launched_at=bill.launched_at, ended_at=bill.ended_at))


async def save_new(connection: AsyncConnection, instances: Sequence[Instance]) -> None:
    if instances:
        await connection.execute(insert(instance), [_row_of(one) for one in instances])


async def save_change(connection: AsyncConnection, before: Instance, after: Instance) -> bool:
    """Save an instance. Returns False and writes nothing if it has changed meanwhile."""
    statement = (
        update(instance)
        .where(instance.c.id == before.id, instance.c.version == before.version)
        .values(_row_of(after))
    )
    return (await connection.execute(statement)).rowcount > 0


def _instance_of(row: Row[Any]) -> Instance:
    values = {name: getattr(row, name) for name in _FIELDS}
    return Instance(**(values | {"state": InstanceState(row.state)}))


def _row_of(one: Instance) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _FIELDS}

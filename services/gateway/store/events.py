"""The tenant's feed of events, refused commands, and answers kept for idempotency keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from pydantic import JsonValue
from sqlalchemy import Row, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import counter, event, idempotency, operation
from shared.messages.experiments import OperationRefused


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A change as it goes into the feed."""

    kind: str
    change: str
    entity: UUID
    experiment: UUID | None
    version: int
    resource: JsonValue


async def lock_feed(connection: AsyncConnection, tenant: UUID) -> None:
    """Taken before anything is projected: positions then rise in the order of commits, and replicas cannot deadlock."""
    statement = upsert(counter).values(tenant=tenant, experiments=0, events=0).on_conflict_do_nothing()
    await connection.execute(statement)
    await connection.execute(select(counter.c.events).where(counter.c.tenant == tenant).with_for_update())


async def append_events(
    connection: AsyncConnection, tenant: UUID, now: datetime, events: Sequence[NewEvent]
) -> int:
    """Appends under the feed's lock; returns the last position."""
    bump = (
        update(counter)
        .where(counter.c.tenant == tenant)
        .values(events=counter.c.events + len(events))
        .returning(counter.c.events)
    )
    last: int = (await connection.execute(bump)).scalar_one()
    rows = [
        {
            "tenant": tenant,
            "position": last - len(events) + 1 + index,
            "at": now,
            "kind": new.kind,
            "change": new.change,
            "entity": new.entity,
            "experiment": new.experiment,
            "version": new.version,
            "resource": new.resource,
        }
        for index, new in enumerate(events)
    ]
    await connection.execute(insert(event), rows)
    return last


async def load_events(
    connection: AsyncConnection, after: int, kinds: Sequence[str], experiment: UUID | None, limit: int
) -> Sequence[Row[Any]]:
    """In order, those behind `after`."""
    query = select(event).where(event.c.position > after)
    if kinds:
        query = query.where(event.c.kind.in_(kinds))
    if experiment is not None:
        query = query.where(event.c.experiment == experiment)
    return (await connection.execute(query.order_by(event.c.position).limit(limit))).all()


async def feed_bounds(connection: AsyncConnection) -> tuple[int, int]:
    """The first position still kept, and the last given; (1, 0) for an empty feed."""
    last = (await connection.execute(select(counter.c.events))).scalar_one_or_none() or 0
    first = (await connection.execute(select(func.min(event.c.position)))).scalar_one_or_none()
    return (first if first is not None else last + 1), last


async def save_refusal(
    connection: AsyncConnection, tenant: UUID, now: datetime, refused: OperationRefused
) -> None:
    statement = upsert(operation).values(
        tenant=tenant,
        id=refused.operation_id,
        created_at=now,
        code=refused.code,
        message=refused.message,
        hint=refused.hint,
    )
    await connection.execute(statement.on_conflict_do_nothing())


async def load_refusal(connection: AsyncConnection, operation_id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(operation).where(operation.c.id == operation_id))).one_or_none()


async def claim_key(connection: AsyncConnection, values: dict[str, Any]) -> Row[Any] | None:
    """Takes the key for this request, after whoever is just taking it; returns the earlier claim instead, if any."""
    claim = upsert(idempotency).values(**values).on_conflict_do_nothing().returning(idempotency.c.key)
    if (await connection.execute(claim)).one_or_none() is not None:
        return None
    mine = (idempotency.c.operation == values["operation"]) & (idempotency.c.key == values["key"])
    return (await connection.execute(select(idempotency).where(mine))).one()


async def save_answer(connection: AsyncConnection, name: str, key: str, response: JsonValue) -> None:
    here = (idempotency.c.operation == name) & (idempotency.c.key == key)
    await connection.execute(update(idempotency).where(here).values(response=response))


async def drop_key(connection: AsyncConnection, name: str, key: str) -> None:
    """The request failed for good: the key may be used again."""
    await connection.execute(
        delete(idempotency).where(idempotency.c.operation == name, idempotency.c.key == key)
    )


async def sweep(
    connection: AsyncConnection, now: datetime, events_kept: timedelta, keys_kept: timedelta
) -> None:
    """Deletes what is past its time, over all tenants."""
    await connection.execute(delete(event).where(event.c.at < now - events_kept))
    await connection.execute(delete(idempotency).where(idempotency.c.created_at < now - keys_kept))
    await connection.execute(delete(operation).where(operation.c.created_at < now - keys_kept))

"""Stores the event feeds of tenants, and of the site for machines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    DateTime,
    Row,
    Text,
    Uuid,
    cast,
    column,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.events.tables import counter, event
from shared.database.statements import rows_given

_GIVEN = [
    *(event.c.kind, event.c.change, event.c.entity, event.c.experiment, event.c.version),
    column("resource", Text),
]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event to append to the feed. `resource` is JSON. `name`: the event's name for webhooks; None if they do not get it."""

    kind: str
    change: str
    entity: UUID
    experiment: UUID | None
    version: int
    resource: str
    name: str | None = None


def feed_lock(tenant: UUID) -> str:
    """Return the statement that locks a feed. Projections run it first, so that known states do not change during the transaction and replicas cannot deadlock.

    Only `append_events` locks the counter's row, right before the commit, as creates wait for that row too.
    """
    return f"SELECT pg_advisory_xact_lock(hashtextextended('muster:feed:{tenant}', 0))"


async def lock_feed(connection: AsyncConnection, tenant: UUID) -> None:
    """Lock a feed within an open transaction."""
    key = func.hashtextextended(f"muster:feed:{tenant}", 0)
    await connection.execute(select(func.pg_advisory_xact_lock(key)))


async def append_events(
    connection: AsyncConnection,
    tenant: UUID,
    now: datetime,
    events: Sequence[NewEvent],
    condition: ColumnElement[bool],
) -> tuple[int, bool]:
    """Append events under the feed's lock. Return the last position, and whether the condition holds.

    Positions increase in commit order, because the counter's row is locked until the commit.
    """
    before = (
        upsert(counter)
        .values(tenant=tenant, experiments=0, events=len(events))
        .on_conflict_do_update(index_elements=["tenant"], set_={"events": counter.c.events + len(events)})
        .returning((counter.c.events - len(events)).label("last"))
        .cte("before")
    )
    given = rows_given(_GIVEN, [[getattr(new, one.name) for one in _GIVEN] for new in events], "place")
    rows = select(
        literal(tenant, Uuid),
        before.c.last + given.c.place,
        literal(now, DateTime(timezone=True)),
        *(cast(given.c[one.name], event.c[one.name].type) for one in _GIVEN),
    ).select_from(given.join(before, true()))
    names = ("tenant", "position", "at", *(one.name for one in _GIVEN))
    append = insert(event).from_select(names, rows.order_by(given.c.place))
    added = await connection.execute(append.returning(event.c.position, condition.label("condition")))
    position, holds = added.all()[-1]
    return position, holds


async def load_events(
    connection: AsyncConnection, tenant: UUID, after: int, kinds: Collection[str], limit: int
) -> Sequence[Row[Any]]:
    """Load events after `after` in order, of the given kinds only: a newer replica may have appended unknown kinds."""
    query = select(event).where(event.c.tenant == tenant, event.c.position > after, event.c.kind.in_(kinds))
    query = query.order_by(event.c.position).limit(limit)
    return (await connection.execute(query)).all()


async def find_changed_entity(
    connection: AsyncConnection, after: int, kind: str, operation_id: UUID
) -> UUID | None:
    """Return the entity of a kind that an operation has changed, by the feed after `after`; None if there is no such event yet."""
    query = select(event.c.entity).where(
        event.c.position > after,
        event.c.kind == kind,
        event.c.resource["operation_id"].as_string() == str(operation_id),
    )
    return (await connection.execute(query.limit(1))).scalar_one_or_none()


async def has_event_of_operation(
    connection: AsyncConnection, since: datetime, entity: UUID, operation_id: UUID
) -> bool:
    """Whether the feed contains an event since `since` in which the operation changed the entity. The row itself may contain later changes."""
    query = select(event.c.position).where(
        event.c.at > since,
        event.c.entity == entity,
        event.c.resource["operation_id"].as_string() == str(operation_id),
    )
    return (await connection.execute(query.limit(1))).scalar_one_or_none() is not None


async def feed_bounds(connection: AsyncConnection, tenant: UUID) -> tuple[int, int]:
    """Return the last deleted position and the last position of a feed; (0, 0) for an empty feed."""
    query = select(counter.c.last_expired_position, counter.c.events).where(counter.c.tenant == tenant)
    found = (await connection.execute(query)).one_or_none()
    return (found.last_expired_position, found.events) if found is not None else (0, 0)


async def feed_end(connection: AsyncConnection, tenant: UUID) -> int:
    """Return the last position of a feed."""
    query = select(counter.c.events).where(counter.c.tenant == tenant)
    return (await connection.execute(query)).scalar_one_or_none() or 0


async def sweep_feeds(connection: AsyncConnection, now: datetime, kept: timedelta) -> None:
    """Delete expired events of all tenants, and update where each feed begins."""
    deleted = (
        delete(event).where(event.c.at < now - kept).returning(event.c.tenant, event.c.position).cte("old")
    )
    last = (
        select(deleted.c.tenant, func.max(deleted.c.position).label("position"))
        .group_by(deleted.c.tenant)
        .subquery("last")
    )
    last_expired = func.greatest(counter.c.last_expired_position, last.c.position)
    await connection.execute(
        update(counter).where(counter.c.tenant == last.c.tenant).values(last_expired_position=last_expired)
    )

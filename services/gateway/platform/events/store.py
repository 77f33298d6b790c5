"""Feeds of events (a tenant's, and the site's of machines), refused commands, and answers kept for idempotency keys."""

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
    """A change as it goes into the feed; `resource` is JSON. `name`: as webhooks are told it; None for one that they are not."""

    kind: str
    change: str
    entity: UUID
    experiment: UUID | None
    version: int
    resource: str
    name: str | None = None


def feed_lock(tenant: UUID) -> str:
    """The statement that is taken before anything is projected: what is found known stays so until the end of the transaction, and replicas cannot deadlock.

    The counter's row is taken by `append_events` alone, right before the end: creates wait for that too.
    """
    return f"SELECT pg_advisory_xact_lock(hashtextextended('muster:feed:{tenant}', 0))"


async def lock_feed(connection: AsyncConnection, tenant: UUID) -> None:
    """The same, within a transaction that has begun."""
    key = func.hashtextextended(f"muster:feed:{tenant}", 0)
    await connection.execute(select(func.pg_advisory_xact_lock(key)))


async def append_events(
    connection: AsyncConnection,
    tenant: UUID,
    now: datetime,
    events: Sequence[NewEvent],
    condition: ColumnElement[bool],
) -> tuple[int, bool]:
    """Appends under the feed's lock; returns the last position, and whether the condition holds.

    Positions rise in the order of commits: the counter's row is held until then.
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
    """In order, those of a feed behind `after` of these kinds: a newer replica may tell of others."""
    query = select(event).where(event.c.tenant == tenant, event.c.position > after, event.c.kind.in_(kinds))
    query = query.order_by(event.c.position).limit(limit)
    return (await connection.execute(query)).all()


async def find_changed_entity(
    connection: AsyncConnection, after: int, kind: str, operation_id: UUID
) -> UUID | None:
    """Which entity of a kind an operation has changed, as the feed holds it behind `after`; None while it does not."""
    query = select(event.c.entity).where(
        event.c.position > after,
        event.c.kind == kind,
        event.c.resource["operation_id"].as_string() == str(operation_id),
    )
    return (await connection.execute(query.limit(1))).scalar_one_or_none()


async def has_event_of_operation(
    connection: AsyncConnection, since: datetime, entity: UUID, operation_id: UUID
) -> bool:
    """Whether the feed has told since then that an operation changed the entity: its row may hold what a later one made of it."""
    query = select(event.c.position).where(
        event.c.at > since,
        event.c.entity == entity,
        event.c.resource["operation_id"].as_string() == str(operation_id),
    )
    return (await connection.execute(query.limit(1))).scalar_one_or_none() is not None


async def feed_bounds(connection: AsyncConnection, tenant: UUID) -> tuple[int, int]:
    """The last position whose event is past its time, and the last given; (0, 0) for an empty feed."""
    query = select(counter.c.swept, counter.c.events).where(counter.c.tenant == tenant)
    found = (await connection.execute(query)).one_or_none()
    return (found.swept, found.events) if found is not None else (0, 0)


async def feed_end(connection: AsyncConnection, tenant: UUID) -> int:
    """The last position given, whoever sees what is there."""
    query = select(counter.c.events).where(counter.c.tenant == tenant)
    return (await connection.execute(query)).scalar_one_or_none() or 0


async def sweep_feeds(connection: AsyncConnection, now: datetime, kept: timedelta) -> None:
    """Deletes events that are past their time, over all tenants, and writes down where each feed begins since."""
    swept = (
        delete(event).where(event.c.at < now - kept).returning(event.c.tenant, event.c.position).cte("old")
    )
    last = (
        select(swept.c.tenant, func.max(swept.c.position).label("position"))
        .group_by(swept.c.tenant)
        .subquery("last")
    )
    begins = func.greatest(counter.c.swept, last.c.position)
    await connection.execute(update(counter).where(counter.c.tenant == last.c.tenant).values(swept=begins))

"""Stores webhooks, and creates their deliveries in the transaction that appends to the feed. `delivery_store` handles deliveries from then on."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, delete, exists, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment
from services.gateway.models.tables import model
from services.gateway.platform.events.store import NewEvent
from services.gateway.webhooks.core import EventContext, FeedEvent, NewDelivery, Subscription, plan_intents
from services.gateway.webhooks.tables import webhook, webhook_delivery
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

MAX_LISTED_MATCHES = 5
_COUNTED = ("waiting", "dead")
WEBHOOKS = Cells(
    webhook,
    {
        state: select(func.count())
        .where(webhook_delivery.c.webhook == webhook.c.id, webhook_delivery.c.state == state)
        .correlate(webhook)
        .scalar_subquery()
        for state in _COUNTED
    },
)
"""Columns that lists of webhooks filter and sort by."""


async def insert_webhook(connection: AsyncConnection, values: Mapping[str, Any]) -> bool:
    """Insert a webhook. Return False if its scope has a webhook of that name."""
    statement = upsert(webhook).values(**values).on_conflict_do_nothing()
    return (await connection.execute(statement)).rowcount > 0


async def count_webhooks(connection: AsyncConnection) -> int:
    return (await connection.execute(select(func.count()).select_from(webhook))).scalar_one()


async def name_is_free(connection: AsyncConnection, row: Row[Any], name: str) -> bool:
    """True if no other webhook of the same scope has the name."""
    same = (
        webhook.c.workspace.is_not_distinct_from(row.workspace),
        webhook.c.project.is_not_distinct_from(row.project),
        webhook.c.name == name,
        webhook.c.id != row.id,
    )
    return (await connection.execute(select(webhook.c.id).where(*same))).first() is None


async def load_webhooks_named(connection: AsyncConnection, reference: UUID | str) -> Sequence[Row[Any]]:
    """Load the webhooks with this id or name. Several scopes may use one name."""
    column = webhook.c.id if isinstance(reference, UUID) else webhook.c.name
    query = _counted().where(column == reference).order_by(webhook.c.id)
    return (await connection.execute(query.limit(MAX_LISTED_MATCHES))).all()


async def load_webhooks(connection: AsyncConnection, workspace: str | None, wanted: ListQuery) -> RowPage:
    query = _counted()
    if workspace is not None:
        query = query.where(webhook.c.workspace == workspace)
    return await load_part(connection, query, WEBHOOKS, wanted)


async def lock_webhook(connection: AsyncConnection, webhook_id: UUID) -> None:
    """Lock a webhook until the transaction ends."""
    await connection.execute(select(webhook.c.id).where(webhook.c.id == webhook_id).with_for_update())


async def save_webhook(connection: AsyncConnection, webhook_id: UUID, values: Mapping[str, Any]) -> None:
    await connection.execute(update(webhook).where(webhook.c.id == webhook_id).values(**values))


async def delete_webhook(connection: AsyncConnection, webhook_id: UUID) -> None:
    """Delete a webhook with its deliveries."""
    await connection.execute(delete(webhook_delivery).where(webhook_delivery.c.webhook == webhook_id))
    await connection.execute(delete(webhook).where(webhook.c.id == webhook_id))


def has_webhooks(tenant: UUID) -> ColumnElement[bool]:
    """Return the SQL condition that the tenant has enabled webhooks."""
    return exists().where(webhook.c.tenant == tenant, webhook.c.enabled)


async def intend(
    connection: AsyncConnection, tenant: UUID, now: Any, new_events: Sequence[NewEvent], last: int
) -> bool:
    """Create deliveries for the events that were just appended, the last at position `last`. Return True if there are any."""
    named = [
        (at, one) for at, one in enumerate(new_events, last - len(new_events) + 1) if one.name is not None
    ]
    if not named:
        return False
    listeners = [
        Subscription(row.id, frozenset(row.events), row.workspace, row.project, frozenset(row.labels))
        for row in await connection.execute(select(webhook).where(webhook.c.enabled).order_by(webhook.c.id))
    ]
    contexts = await _load_contexts(connection, [one for _, one in named])
    happenings = [
        FeedEvent(one.name or "", at, one.entity, json.loads(one.resource), _context_of(one, contexts))
        for at, one in named
    ]
    intents = plan_intents(tenant, now, listeners, happenings)
    if intents:
        start = {"is_test": False, "state": "waiting", "attempts": 0, "previous_attempts": 0}
        moments = dict.fromkeys(("created_at", "series_started_at", "due_at"), now)
        values = [{"tenant": tenant, **start, **moments, **_values_of(intent)} for intent in intents]
        await connection.execute(insert(webhook_delivery), values)
    return bool(intents)


async def _load_contexts(
    connection: AsyncConnection, events: Sequence[NewEvent]
) -> dict[UUID | None, EventContext]:
    """Load workspace, project and labels of the events' experiments and models, by id."""
    ids = {_owner_of(one) for one in events}
    columns = (experiment.c.workspace, experiment.c.project, experiment.c.labels, experiment.c.number)
    experiments = select(experiment.c.id, experiment.c.name, *columns).where(experiment.c.id.in_(ids))
    found: dict[UUID | None, EventContext] = {
        row.id: EventContext(row.workspace, row.project, tuple(row.labels), row.id, row.number, row.name)
        for row in await connection.execute(experiments)
    }
    models = select(model.c.id, model.c.workspace).where(model.c.id.in_(ids))
    return found | {row.id: EventContext(row.workspace) for row in await connection.execute(models)}


def _context_of(event: NewEvent, contexts: Mapping[UUID | None, EventContext]) -> EventContext | None:
    """Return where an event belongs. A budget's event names its workspace itself; a tenant's budget has none."""
    if event.kind == "budget":
        workspace = json.loads(event.resource)["workspace"]
        return EventContext(workspace) if workspace is not None else None
    return contexts.get(_owner_of(event))


def _owner_of(event: NewEvent) -> UUID | None:
    """Return the experiment or model that an event belongs to."""
    if event.kind == "model":
        return event.entity
    return UUID(json.loads(event.resource)["model_id"]) if event.kind == "version" else event.experiment


def _values_of(intent: NewDelivery) -> dict[str, Any]:
    return {
        "id": intent.id,
        "webhook": intent.webhook,
        "type": intent.name,
        "event": intent.event,
        "position": intent.position,
    }


def _counted() -> Any:
    """Return the query for webhooks with their numbers of waiting and dead deliveries."""
    return select(webhook, *(WEBHOOKS.others[state].label(state) for state in _COUNTED))

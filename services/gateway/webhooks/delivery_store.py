"""Stores deliveries: replicas lease them, save results, replay them and delete old ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Text, and_, delete, insert, literal, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.webhooks.core import PREFIX, DeliveryAttempt, DeliveryOutcome
from services.gateway.webhooks.tables import webhook, webhook_delivery
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

DELIVERIES = Cells(webhook_delivery, {"type": literal(PREFIX, Text) + webhook_delivery.c.type})
"""Columns that lists of deliveries filter and sort by."""
_WAITING = literal("waiting", literal_execute=True)
"""A literal in the SQL text, so that the planner uses the partial index on waiting deliveries."""
_IS_SENT = and_(webhook_delivery.c.state == _WAITING, or_(webhook.c.enabled, webhook_delivery.c.is_test))


async def insert_delivery(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """Insert a waiting delivery."""
    began = dict.fromkeys(("series_started_at", "due_at"), values["created_at"])
    counts = {"attempts": 0, "previous_attempts": 0, "state": "waiting"}
    await connection.execute(insert(webhook_delivery).values(**values, **began, **counts))


async def find_waiting(
    connection: AsyncConnection, now: datetime
) -> tuple[list[tuple[UUID, UUID]], datetime | None]:
    """Return the webhooks with due deliveries and their tenants, longest waiting first, and when the next delivery is due. Needs the system role."""
    first = (
        select(webhook_delivery.c.due_at)
        .where(webhook_delivery.c.webhook == webhook.c.id, _IS_SENT)
        .order_by(webhook_delivery.c.due_at)
        .limit(1)
        .lateral("first")
    )
    query = select(webhook.c.id, webhook.c.tenant, first.c.due_at).join(first, true())
    rows = (await connection.execute(query.order_by(first.c.due_at))).all()
    due = [(row.id, row.tenant) for row in rows if row.due_at <= now]
    return due, rows[len(due)].due_at if len(rows) > len(due) else None


async def take(
    connection: AsyncConnection, webhook_id: UUID, now: datetime, lease: timedelta, limit: int
) -> Sequence[Row[Any]]:
    """Lease due deliveries of a webhook, with the columns that sending needs. No other replica takes them until the lease expires."""
    due = (
        select(webhook_delivery.c.id)
        .join(webhook, webhook.c.id == webhook_delivery.c.webhook)
        .where(webhook_delivery.c.webhook == webhook_id, webhook_delivery.c.due_at <= now, _IS_SENT)
        .order_by(webhook_delivery.c.due_at, webhook_delivery.c.position)
        .limit(limit)
        .with_for_update(of=webhook_delivery, skip_locked=True)
        .cte("due")
    )
    here = webhook_delivery.c
    statement = (
        update(webhook_delivery)
        .where(here.id == due.c.id, webhook.c.id == here.webhook)
        .values(attempts=here.attempts + 1, due_at=now + lease)
        .returning(
            *(here.id, here.webhook, here.tenant, here.event, here.is_test),
            *(here.attempts, here.previous_attempts, here.series_started_at),
            *(webhook.c.url, webhook.c.form, webhook.c.secret),
            *(webhook.c.previous_secret, webhook.c.previous_secret_until),
        )
    )
    return (await connection.execute(statement)).all()


async def save_outcome(
    connection: AsyncConnection,
    taken: Row[Any],
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
    now: datetime,
) -> bool:
    """Save the result of an attempt. Return False if the delivery was leased again or deleted meanwhile: then the newer attempt counts."""
    values = {
        "state": outcome.state,
        "status": attempt.status,
        "error": attempt.error,
        "ended_at": None if outcome.state == "waiting" else now,
    }
    if outcome.due_at is not None:
        values["due_at"] = outcome.due_at
    still = (
        webhook_delivery.c.id == taken.id,
        webhook_delivery.c.attempts == taken.attempts,
        webhook_delivery.c.state == "waiting",
    )
    return (await connection.execute(update(webhook_delivery).where(*still).values(**values))).rowcount > 0


async def disable_webhook(connection: AsyncConnection, webhook_id: UUID) -> None:
    """Disable a webhook until a user enables it again."""
    await connection.execute(update(webhook).where(webhook.c.id == webhook_id).values(enabled=False))


async def load_delivery(connection: AsyncConnection, webhook_id: UUID, delivery_id: UUID) -> Row[Any] | None:
    query = select(webhook_delivery).where(
        webhook_delivery.c.id == delivery_id, webhook_delivery.c.webhook == webhook_id
    )
    return (await connection.execute(query)).one_or_none()


async def load_deliveries(
    connection: AsyncConnection, webhook_id: UUID, state: str | None, wanted: ListQuery
) -> RowPage:
    query = select(webhook_delivery).where(webhook_delivery.c.webhook == webhook_id)
    if state is not None:
        query = query.where(webhook_delivery.c.state == state)
    return await load_part(connection, query, DELIVERIES, wanted)


async def replay(
    connection: AsyncConnection, webhook_id: UUID, delivery_id: UUID | None, now: datetime
) -> int:
    """Restart a delivery, or all dead deliveries if `delivery_id` is None. Return how many."""
    wanted = (
        webhook_delivery.c.state == "dead" if delivery_id is None else webhook_delivery.c.id == delivery_id
    )
    anew = update(webhook_delivery).where(webhook_delivery.c.webhook == webhook_id, wanted)
    values = {"state": "waiting", "series_started_at": now, "due_at": now, "ended_at": None}
    return (
        await connection.execute(anew.values(**values, previous_attempts=webhook_delivery.c.attempts))
    ).rowcount


async def sweep(
    connection: AsyncConnection, now: datetime, delivered_kept: timedelta, dead_kept: timedelta
) -> None:
    """Delete old deliveries of all tenants."""
    old = or_(
        webhook_delivery.c.created_at < now - dead_kept,
        and_(webhook_delivery.c.state == "delivered", webhook_delivery.c.created_at < now - delivered_kept),
    )
    await connection.execute(delete(webhook_delivery).where(old))

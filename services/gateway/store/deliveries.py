"""What is sent to webhooks: taken by one replica at a time, ended, replayed, and swept when it is old."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Text, and_, delete, insert, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.core.webhooks import PREFIX, Attempt, Outcome
from services.gateway.store.webhook_tables import delivery, webhook
from shared.driver import Driver, Row as Taken
from shared.expressions.fields import Wanted
from shared.expressions.sql import Cells, Part, load_part

DELIVERIES = Cells(delivery, {"type": literal(PREFIX, Text) + delivery.c.type})
"""What of a delivery a list can go by."""


async def insert_delivery(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    """One that waits from now on."""
    began = dict.fromkeys(("began_at", "due_at"), values["created_at"])
    counts = {"attempts": 0, "attempts_before": 0, "state": "waiting"}
    await connection.execute(insert(delivery).values(**values, **began, **counts))


async def find_waiting(
    connection: AsyncConnection, now: datetime
) -> tuple[list[tuple[UUID, UUID]], datetime | None]:
    """Webhooks for which something is due, each with its tenant, the longest waiting first; and when the next is due. Under the system role."""
    rows = await Driver.of(connection).fetch(_WAITING)
    due = [(row["id"], row["tenant"]) for row in rows if row["due_at"] <= now]
    return due, rows[len(due)]["due_at"] if len(rows) > len(due) else None


async def take(
    connection: AsyncConnection, webhook_id: UUID, now: datetime, lease: timedelta, limit: int
) -> Sequence[Taken]:
    """Takes what is due for a webhook, with all that sending needs; no other replica takes it before the lease is over."""
    return await Driver.of(connection).fetch(_TAKE, webhook_id, now, now + lease, limit)


async def save_outcome(
    connection: AsyncConnection, taken: Taken, attempt: Attempt, outcome: Outcome, now: datetime
) -> bool:
    """False where the delivery was taken again meanwhile, or is gone: what that attempt says counts."""
    values = {
        "state": outcome.state,
        "status": attempt.status,
        "error": attempt.error,
        "ended_at": None if outcome.state == "waiting" else now,
    }
    if outcome.due_at is not None:
        values["due_at"] = outcome.due_at
    still = (
        delivery.c.id == taken["id"],
        delivery.c.attempts == taken["attempts"],
        delivery.c.state == "waiting",
    )
    return (await connection.execute(update(delivery).where(*still).values(**values))).rowcount > 0


async def disable_webhook(connection: AsyncConnection, webhook_id: UUID) -> None:
    """Sends it nothing more until somebody enables it."""
    await connection.execute(update(webhook).where(webhook.c.id == webhook_id).values(enabled=False))


async def load_delivery(connection: AsyncConnection, webhook_id: UUID, delivery_id: UUID) -> Row[Any] | None:
    query = select(delivery).where(delivery.c.id == delivery_id, delivery.c.webhook == webhook_id)
    return (await connection.execute(query)).one_or_none()


async def load_deliveries(
    connection: AsyncConnection, webhook_id: UUID, state: str | None, wanted: Wanted
) -> Part:
    query = select(delivery).where(delivery.c.webhook == webhook_id)
    if state is not None:
        query = query.where(delivery.c.state == state)
    return await load_part(connection, query, DELIVERIES, wanted)


async def replay(
    connection: AsyncConnection, webhook_id: UUID, delivery_id: UUID | None, now: datetime
) -> int:
    """Sends a delivery again from the beginning, or (None) all that were given up; returns how many."""
    wanted = delivery.c.state == "dead" if delivery_id is None else delivery.c.id == delivery_id
    anew = update(delivery).where(delivery.c.webhook == webhook_id, wanted)
    values = {"state": "waiting", "began_at": now, "due_at": now, "ended_at": None}
    return (await connection.execute(anew.values(**values, attempts_before=delivery.c.attempts))).rowcount


async def sweep(
    connection: AsyncConnection, now: datetime, delivered_kept: timedelta, dead_kept: timedelta
) -> None:
    """Deletes what arrived or was given up long ago, over all tenants."""
    old = or_(
        delivery.c.created_at < now - dead_kept,
        and_(delivery.c.state == "delivered", delivery.c.created_at < now - delivered_kept),
    )
    await connection.execute(delete(delivery).where(old))


_WAITING = """
SELECT w.id, w.tenant, first.due_at FROM gateway.webhook w CROSS JOIN LATERAL (
    SELECT due_at FROM gateway.delivery WHERE webhook = w.id AND state = 'waiting' AND (w.enabled OR is_test)
    ORDER BY due_at LIMIT 1
) first
ORDER BY first.due_at
"""
_TAKE = """
WITH due AS (
    SELECT d.id FROM gateway.delivery d JOIN gateway.webhook w ON w.id = d.webhook
    WHERE d.webhook = $1 AND d.state = 'waiting' AND d.due_at <= $2 AND (w.enabled OR d.is_test)
    ORDER BY d.due_at, d.position LIMIT $4 FOR UPDATE OF d SKIP LOCKED
)
UPDATE gateway.delivery d SET attempts = d.attempts + 1, due_at = $3
FROM due, gateway.webhook w WHERE d.id = due.id AND w.id = d.webhook
RETURNING d.id, d.webhook, d.tenant, d.event, d.is_test, d.attempts, d.attempts_before, d.began_at,
    w.url, w.form, w.secret, w.previous_secret, w.previous_until
"""

"""The inbox: messages that a consumer has handled. Each row is committed with the message's effects, so effects happen once.

Hot path on the raw driver: every handled message passes through it.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from shared.bus.delivery_batches import ReceivedMessage
from shared.bus.envelope import Delivery
from shared.bus.units import Unit
from shared.database.driver import AsyncpgDriver
from shared.ids import TenantId


class Inbox:
    """One consumer's rows in a schema's inbox."""

    def __init__(self, consumer: str, schema: str) -> None:
        self._consumer = consumer
        # Drop messages about deleted entities at their first delivery: they would recreate them.
        self._insert = (
            f"INSERT INTO {schema}.inbox (tenant, consumer, message_id)"
            " SELECT $1::uuid, $2::text, one.id FROM unnest($3::uuid[], $4::uuid[]) AS one (id, about)"
            f" WHERE NOT EXISTS (SELECT FROM {schema}.tombstone WHERE tombstone.id IN (one.about, $1))"
            " ON CONFLICT DO NOTHING RETURNING message_id"
        )

    async def take(
        self, unit: Unit, tenant: TenantId, group: Sequence[ReceivedMessage]
    ) -> list[Delivery[Any]]:
        """Insert the group and return the new messages, each once, without those about deleted entities."""
        deliveries: dict[UUID, Delivery[Any]] = {}
        for found in group:
            deliveries.setdefault(found.delivery.envelope.id, found.delivery)
        driver = AsyncpgDriver.of(unit.connection)
        about = [delivery.envelope.correlation for delivery in deliveries.values()]
        inserted = await driver.fetch(self._insert, tenant, self._consumer, list(deliveries), about)
        fresh = {row["message_id"] for row in inserted}
        return [delivery for id_, delivery in deliveries.items() if id_ in fresh]

"""The inbox: which messages a consumer has handled. A row is committed with their effects, and so they happen once."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from shared.bus.arrivals import Arrived
from shared.bus.envelope import Delivery
from shared.bus.units import Unit
from shared.driver import Driver
from shared.ids import TenantId


class Inbox:
    """One consumer's part of a schema's inbox."""

    def __init__(self, consumer: str, schema: str) -> None:
        self._consumer = consumer
        self._insert = (
            f"INSERT INTO {schema}.inbox (tenant, consumer, message_id)"
            " SELECT $1::uuid, $2::text, unnest($3::uuid[]) ON CONFLICT DO NOTHING RETURNING message_id"
        )

    async def take(self, unit: Unit, tenant: TenantId, group: Sequence[Arrived]) -> list[Delivery[Any]]:
        """Enters the group and returns those that were not there, each once however often it is in the group."""
        deliveries: dict[UUID, Delivery[Any]] = {}
        for found in group:
            deliveries.setdefault(found.delivery.envelope.id, found.delivery)
        driver = Driver.of(unit.connection)
        inserted = await driver.fetch(self._insert, tenant, self._consumer, list(deliveries))
        fresh = {row["message_id"] for row in inserted}
        return [delivery for id_, delivery in deliveries.items() if id_ in fresh]

"""Read rented machines."""

from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Row, cast, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.cluster.tables import instance
from shared.filters.fields import ListQuery
from shared.filters.sql import Cells, RowPage, load_part

_LAST_EVENT = instance.c.last_event

INSTANCES = Cells(
    instance,
    {
        name: _LAST_EVENT[name].as_string()
        for name in ("pool", "worker", "driver", "state", "reason", "zone", "purchase")
    }
    | {"kind": _LAST_EVENT["machine_kind"].as_string()}
    | {"slots": _LAST_EVENT["slots"].as_integer(), "price_per_hour": _LAST_EVENT["price_per_hour"].as_float()}
    | {
        name: cast(_LAST_EVENT[name].as_string(), DateTime(timezone=True))
        for name in ("since", "launched_at", "ended_at")
    },
)
"""Fields by which lists of machines can be filtered and sorted."""


async def load_instances(connection: AsyncConnection, wanted: ListQuery) -> RowPage:
    return await load_part(connection, select(instance), INSTANCES, wanted)


async def load_instance(connection: AsyncConnection, id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(instance).where(instance.c.id == id))).one_or_none()

"""Says again how every entity of a service is: for a consumer that is new or was rebuilt.

The outbox keeps the newest event of each entity whatever its age, so nothing is made anew: those rows wait for the relay once more, in their
order, under their own ids. Who has handled one knows it by its inbox, and by the version beyond the inbox's days. What tells of no entity
is not said again: a stored validation or a refused operation happened once, and nobody's state can be read off it.
"""

from functools import partial
from typing import Any

from sqlalchemy import Table, Text, Update, cast, func, update
from sqlalchemy.dialects.postgresql import JSONB

from shared.bus.consumer import Handlers
from shared.bus.envelope import Delivery
from shared.bus.outbox import newest
from shared.bus.units import Unit
from shared.database.tables import tables_of
from shared.messages.republish import BY_OWNER


def republishing(service: str) -> Handlers:
    """The service's row for its commands."""
    return {BY_OWNER[service]: partial(_republish, tables_of(service).outbox)}


async def _republish(outbox: Table, unit: Unit, batch: list[Delivery[Any]]) -> None:
    """Several wishes that came together are one. What waits to be published for the first time is left alone."""
    await unit.connection.execute(_statement(outbox, str(batch[-1].message.operation_id)))


def _statement(outbox: Table, wish: str) -> Update:
    # The stream judges repeats by `Nats-Msg-Id`, which is new with each wish; consumers go by `Muster-Id`.
    id_ = cast(outbox.c.id, Text)
    ids = func.jsonb_build_object("Muster-Id", id_, "Nats-Msg-Id", f"{wish}:" + id_)
    return (
        update(outbox)
        .where(outbox.c.published_at.is_not(None), newest(outbox))
        .values(
            published_at=None,
            stream=None,
            stream_created=None,
            stream_sequence=None,
            headers=cast(cast(outbox.c.headers, JSONB).concat(ids), Text),
        )
    )

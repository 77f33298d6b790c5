"""Publishes the current state of every entity of a service again, for a consumer that is new or was rebuilt.

The outbox keeps the newest event of each entity at any age, so no event is created: those rows are published once more, in order and under
their own ids. A consumer that handled one recognizes it by its inbox, or by the version if it is older than the inbox retention. Events
that describe no entity, such as a stored validation, are not published again: no state can be derived from them.
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
    """Return the handler of the service's republish command."""
    return {BY_OWNER[service]: partial(_republish, tables_of(service).outbox)}


async def _republish(outbox: Table, unit: Unit, batch: list[Delivery[Any]]) -> None:
    """Reset the rows for publication. Commands in one batch count as one. Rows not published yet are left alone."""
    await unit.connection.execute(_statement(outbox, str(batch[-1].message.operation_id)))


def _statement(outbox: Table, operation: str) -> Update:
    # The stream deduplicates by `Nats-Msg-Id`, which differs for each command; consumers use `Muster-Id`.
    id_ = cast(outbox.c.id, Text)
    ids = func.jsonb_build_object("Muster-Id", id_, "Nats-Msg-Id", f"{operation}:" + id_)
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

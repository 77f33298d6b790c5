"""Says again how every entity of a service is: for a consumer that is new or was rebuilt.

The outbox keeps the newest event of each entity whatever its age, so nothing is made anew: those rows wait for the relay once more, in their
order, under their own ids. Who has handled one knows it by its inbox, and by the version beyond the inbox's days. What tells of no entity
is not said again: a stored validation or a refused operation happened once, and nobody's state can be read off it.
"""

from functools import partial
from typing import Any

from sqlalchemy import TextClause, text

from shared.bus.consumer import Handlers
from shared.bus.envelope import Delivery
from shared.bus.outbox import newest
from shared.bus.units import Unit
from shared.messages.republish import BY_OWNER


def republishing(service: str) -> Handlers:
    """The service's row for its commands."""
    return {BY_OWNER[service]: partial(_republish, _statement(service))}


async def _republish(statement: TextClause, unit: Unit, batch: list[Delivery[Any]]) -> None:
    """Several wishes that came together are one. What waits to be published for the first time is left alone."""
    await unit.connection.execute(statement, {"wish": str(batch[-1].message.operation_id)})


def _statement(schema: str) -> TextClause:
    # The stream judges repeats by `Nats-Msg-Id`, which is new with each wish; consumers go by `Muster-Id`.
    return text(
        f"UPDATE {schema}.outbox AS one SET published_at = NULL, stream = NULL, stream_created = NULL,"
        " stream_sequence = NULL, headers = CAST(CAST(headers AS jsonb) || jsonb_build_object('Muster-Id', id,"
        " 'Nats-Msg-Id', CAST(:wish AS text) || ':' || id) AS text)"
        f" WHERE published_at IS NOT NULL AND {newest(schema)}"
    )

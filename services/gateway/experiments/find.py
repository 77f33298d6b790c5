"""Resolve references to experiments of the caller's tenant."""

from collections.abc import Awaitable, Callable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.experiments import store
from services.gateway.platform.call_context import Call
from services.gateway.platform.references import NUMBER, Row, parse_uuid

Load = Callable[[AsyncConnection, int | UUID], Awaitable[Row | None]]


async def find_experiment(call: Call, reference: str, load: Load = store.load_experiment) -> Row:
    """Return the experiment's row. Raises NotFound; Conflict if a change is requested and it is being deleted.

    Args:
        load: Query that reads the experiment by number or id.
    """
    async with call.read() as connection:
        row = await experiment_in(connection, reference, load)
    call.set_audit_fields(entity=f"experiment/{row.number}")
    check_not_deleting(call, row.deleting, row.number)
    return row


async def experiment_in(
    connection: AsyncConnection, reference: str, load: Load = store.load_experiment
) -> Row:
    """Return the experiment's row within a transaction. Raises NotFound."""
    key: int | UUID | None = int(reference) if NUMBER.fullmatch(reference) else parse_uuid(reference)
    row = await load(connection, key) if key is not None else None
    if row is None:
        raise NotFound(f"experiment {reference}", "`muster experiment list` shows all experiments")
    return row


def check_not_deleting(call: Call, is_deleting: bool, number: int) -> None:
    """Raises Conflict if an operation would change an experiment that is being deleted."""
    if is_deleting and call.audit_writer is not None:
        raise Conflict("experiment_deleting", f"experiment {number} is being deleted and cannot be changed")

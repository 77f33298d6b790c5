"""Operations that took longer than their request waited, as things: running, done with what came of it, or refused."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.api.base import Resource
from services.gateway.api.operations import (
    ListOperationsRequest,
    LongOperation,
    LongOperationPage,
    OperationRequest,
    OperationState,
)
from services.gateway.operations import editing, lifecycle, models, searching, versions
from services.gateway.operations.call import Call
from services.gateway.operations.commands import Entity
from services.gateway.operations.deferring import orderer_of
from services.gateway.operations.find import parse_uuid
from services.gateway.operations.paging import make_cursor, read_cursor
from services.gateway.operations.render_experiments import render_experiment, render_experiment_detail
from services.gateway.store import experiments, ordered as store
from services.gateway.store.events import find_told, load_refusal

Outcome = Callable[[AsyncConnection, Any], Awaitable[Resource | None]]
"""What came of an operation, as far as the caller sees it; None while nothing has."""


async def get_operation(call: Call, request: OperationRequest) -> LongOperation:
    """Shows how far an operation is that took longer than its request waited; who ordered it sees it."""
    name = parse_uuid(request.operation)
    async with call.reading().connection() as connection:
        row = await store.load_ordered(connection, orderer_of(call), name) if name else None
        if row is None:
            raise NotFound(f"operation {request.operation}", "an operation can be looked at for a day")
        return await _render(connection, row)


async def list_operations(call: Call, request: ListOperationsRequest) -> LongOperationPage:
    """Lists the caller's operations of the last day that took longer than their request waited, newest first."""
    position = read_cursor(call, request, request.cursor)
    below = parse_uuid(str(position[0])) if position else None
    async with call.reading().connection() as connection:
        rows = await store.load_page(connection, orderer_of(call), below, request.limit + 1)
        shown = [await _render(connection, row) for row in rows[: request.limit]]
    more = len(rows) > request.limit
    return LongOperationPage(
        items=shown, next_cursor=make_cursor(call, request, [str(shown[-1].id)]) if more else None
    )


async def _render(connection: AsyncConnection, row: Any) -> LongOperation:
    plain = {"id": row.id, "operation": row.operation, "created_at": row.created_at}
    refusal = await load_refusal(connection, row.id)
    if refusal is not None:
        told = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return LongOperation.model_validate({**plain, "state": OperationState.REFUSED, **told})
    found = await OUTCOMES[row.operation](connection, row)
    state = OperationState.RUNNING if found is None else OperationState.DONE
    result = found.model_dump(mode="json") if found is not None else None
    return LongOperation.model_validate({**plain, "state": state, "result": result})


async def _reached(connection: AsyncConnection, row: Any) -> Resource | None:
    now = await experiments.load_experiment(connection, row.entity)
    is_there = now is not None and lifecycle.ACTIONS[row.operation].reached(now, row.version)
    return render_experiment(now) if is_there else None


async def _edited(told: str, connection: AsyncConnection, row: Any) -> Resource | None:
    """`told`: the column in which the owner names the newest change that it made."""
    now = await experiments.load_experiment(connection, row.entity)
    made = (getattr(now, told) or {}).get("operation_id") if now is not None else None
    # Ids rise with time: where a later change was made, this one was before it.
    return render_experiment_detail(now) if made is not None and UUID(made) >= row.id else None


async def _told(entity: Entity[Any], connection: AsyncConnection, row: Any) -> Resource | None:
    changed = await find_told(connection, row.position, entity.kind, row.id)
    now = await entity.load(connection, changed) if changed is not None else None
    shown: Resource | None = entity.render(now) if now is not None else None
    return shown


OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(lifecycle.ACTIONS, _reached),
    "EditExperiment": partial(_edited, editing.TOLD),
    "EditSearch": partial(_edited, searching.TOLD),
    **dict.fromkeys(models.ORDERING, partial(_told, models.MODEL)),
    **dict.fromkeys(versions.ORDERING, partial(_told, versions.VERSION)),
}
"""How each operation that orders something is seen to have worked."""

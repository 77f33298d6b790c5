"""Operations that took longer than their request waited, as things: running, done with what came of it, or refused."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster
from services.gateway.long_operations.schema import ListOperationsRequest, LongOperationPage, OperationRequest
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call import Call
from services.gateway.platform.commands import operation_store as store
from services.gateway.platform.commands.long_operation_answers import orderer_of, waiting_for_bus
from services.gateway.platform.commands.outcomes import SiteOutcome, TenantOutcome
from services.gateway.platform.commands.schema import LongOperation, OperationState
from services.gateway.platform.commands.store import load_refusal, load_refusals
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import SAFE
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Resource
from shared.errors import Broken
from shared.filters.in_memory import cell_of, meets
from shared.ids import SITE

Kind = TypeVar("Kind", TenantOutcome, SiteOutcome)


async def get_operation(call: Call, request: OperationRequest) -> LongOperation:
    """Shows how far an operation is that took longer than its request waited; who ordered it sees it."""
    name = parse_uuid(request.operation)
    async with call.as_reader().read() as connection:
        row = await store.load_ordered(connection, orderer_of(call), name) if name else None
        shown = await _render(call, connection, row) if row is not None and row.wanted is None else None
    if shown is None and row is not None:
        (shown,) = await _render_of_site(call, [row])
    if shown is None:
        raise NotFound(f"operation {request.operation}", "an operation can be looked at for a day")
    return _with_waiting(call, shown)


async def list_operations(call: Call, request: ListOperationsRequest) -> LongOperationPage:
    """Lists the caller's operations of the last day that took longer than their request waited, newest first or as they are sorted."""
    wanted = read_wanted(call, request)
    async with call.as_reader().read() as connection:
        found = await store.load_page(connection, orderer_of(call), replace(wanted, filter=None))
        shown = {row.id: await _render(call, connection, row) for row in found.rows if row.wanted is None}
    of_site = [row for row in found.rows if row.wanted is not None]
    if of_site:
        shown |= {one.id: one for one in await _render_of_site(call, of_site) if one is not None}
    items = [_with_waiting(call, shown[row.id]) for row in found.rows if row.id in shown]
    return LongOperationPage(
        items=[one for one in items if wanted.filter is None or meets(wanted.filter, partial(cell_of, one))],
        next_cursor=next_cursor(call, request, found.next),
    )


def _with_waiting(call: Call, shown: LongOperation) -> LongOperation:
    waiting = waiting_for_bus(call) if shown.state is OperationState.RUNNING else None
    return shown.model_copy(update={"waiting": waiting}) if waiting is not None else shown


async def _render(call: Call, connection: AsyncConnection, row: Any) -> LongOperation:
    refusal = await load_refusal(connection, row.id)
    found = await _outcome(call, row, TenantOutcome).find(connection, row) if refusal is None else None
    return _shown(row, refusal, found)


async def _render_of_site(call: Call, rows: Sequence[Any]) -> list[LongOperation | None]:
    """What was asked of the site; its refusals come back to the site. None for who does not see machines any more."""
    if not call.caller.grants.holds(Permission.CLUSTER_READ):
        return [None for _ in rows]
    view = await load_cluster(call)
    async with call.doors.database.read(SITE) as connection:
        refusals = await load_refusals(connection, [row.id for row in rows])
    return [
        _shown(row, refusals.get(row.id), _outcome(call, row, SiteOutcome).find(row.wanted, view))
        for row in rows
    ]


def _outcome(call: Call, row: Any, kind: type[Kind]) -> Kind:
    """How the operation of a row of `ordered` is seen to have worked, as its row of the table says."""
    found = call.doors.outcomes[row.operation]
    if not isinstance(found, kind):
        raise Broken(f"operation {row.operation} was ordered as one of another kind")
    return found


def _shown(row: Any, refusal: Any | None, found: Resource | None) -> LongOperation:
    plain = {"id": row.id, "operation": row.operation, "created_at": row.created_at}
    if refusal is not None:
        told = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return LongOperation.model_validate({**plain, "state": OperationState.REFUSED, **told})
    state = OperationState.RUNNING if found is None else OperationState.DONE
    result = found.model_dump(mode="json") if found is not None else None
    return LongOperation.model_validate({**plain, "state": state, "result": result})


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListOperations", "GET", "/v1/operations", ListOperationsRequest, LongOperationPage, Permission.SELF, SAFE, list_operations, waits=True),
    Operation("GetOperation", "GET", "/v1/operations/{operation}", OperationRequest, LongOperation, Permission.SELF, SAFE, get_operation, waits=True),
)
# fmt: on

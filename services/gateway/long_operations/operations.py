"""Show long operations: running, done with a result, or refused."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster
from services.gateway.long_operations.schema import ListOperationsRequest, LongOperationPage, OperationRequest
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands import operation_store as store
from services.gateway.platform.commands.long_operation_answers import requester_of, waiting_for_bus
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
    """Show the state of a long operation. Only the caller who started it sees it."""
    name = parse_uuid(request.operation)
    async with call.as_reader().read() as connection:
        row = await store.load_long_operation(connection, requester_of(call), name) if name else None
        rendered = (
            await _render(call, connection, row) if row is not None and row.desired_state is None else None
        )
    if rendered is None and row is not None:
        (rendered,) = await _render_of_site(call, [row])
    if rendered is None:
        raise NotFound(
            f"operation {request.operation}",
            "operations are kept for a day, and rendered only to their caller",
        )
    return _with_waiting(call, rendered)


async def list_operations(call: Call, request: ListOperationsRequest) -> LongOperationPage:
    """List the caller's long operations of the last day, newest first by default."""
    wanted = read_wanted(call, request)
    async with call.as_reader().read() as connection:
        found = await store.load_page(connection, requester_of(call), replace(wanted, filter=None))
        rendered = {
            row.id: await _render(call, connection, row) for row in found.rows if row.desired_state is None
        }
    of_site = [row for row in found.rows if row.desired_state is not None]
    if of_site:
        rendered |= {one.id: one for one in await _render_of_site(call, of_site) if one is not None}
    items = [_with_waiting(call, rendered[row.id]) for row in found.rows if row.id in rendered]
    return LongOperationPage(
        items=[one for one in items if wanted.filter is None or meets(wanted.filter, partial(cell_of, one))],
        next_cursor=next_cursor(call, request, found.next),
    )


def _with_waiting(call: Call, rendered: LongOperation) -> LongOperation:
    waiting = waiting_for_bus(call) if rendered.state is OperationState.RUNNING else None
    return rendered.model_copy(update={"waiting": waiting}) if waiting is not None else rendered


async def _render(call: Call, connection: AsyncConnection, row: Any) -> LongOperation:
    refusal = await load_refusal(connection, row.id)
    found = await _outcome(call, row, TenantOutcome).find(connection, row) if refusal is None else None
    return _long_operation(row, refusal, found)


async def _render_of_site(call: Call, rows: Sequence[Any]) -> list[LongOperation | None]:
    """Render operations on the site, whose refusals belong to the site. None if the caller no longer has permission to see machines."""
    if not call.caller.grants.holds(Permission.CLUSTER_READ):
        return [None for _ in rows]
    view = await load_cluster(call)
    async with call.dependencies.database.read(SITE) as connection:
        refusals = await load_refusals(connection, [row.id for row in rows])
    return [
        _long_operation(
            row, refusals.get(row.id), _outcome(call, row, SiteOutcome).find(row.desired_state, view)
        )
        for row in rows
    ]


def _outcome(call: Call, row: Any, kind: type[Kind]) -> Kind:
    """Return the outcome check of an operation from the table of operations."""
    found = call.dependencies.outcomes[row.operation]
    if not isinstance(found, kind):
        raise Broken(f"operation {row.operation} has an outcome of another kind than {kind.__name__}")
    return found


def _long_operation(row: Any, refusal: Any | None, found: Resource | None) -> LongOperation:
    plain = {"id": row.id, "operation": row.operation, "created_at": row.created_at}
    if refusal is not None:
        reason = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return LongOperation.model_validate({**plain, "state": OperationState.REFUSED, **reason})
    state = OperationState.RUNNING if found is None else OperationState.DONE
    result = found.model_dump(mode="json") if found is not None else None
    return LongOperation.model_validate({**plain, "state": state, "result": result})


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListOperations", "GET", "/v1/operations", ListOperationsRequest, LongOperationPage, Permission.SELF, SAFE, list_operations, waits=True),
    Operation("GetOperation", "GET", "/v1/operations/{operation}", OperationRequest, LongOperation, Permission.SELF, SAFE, get_operation, waits=True),
)
# fmt: on

"""Operations that took longer than their request waited, as things: running, done with what came of it, or refused."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import NotFound
from services.gateway.cluster.find import load_cluster
from services.gateway.cluster.operations import drain as draining
from services.gateway.deletions import operations as deleting
from services.gateway.experiments import actions, store as experiments
from services.gateway.experiments.operations import edit as editing, running_search as searching
from services.gateway.experiments.render import render_experiment, render_experiment_detail
from services.gateway.long_operations.schema import ListOperationsRequest, LongOperationPage, OperationRequest
from services.gateway.model_versions import operations as versions
from services.gateway.models import operations as models
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call import Call
from services.gateway.platform.commands import ordered_store as store
from services.gateway.platform.commands.deferring import orderer_of, waiting_for_bus
from services.gateway.platform.commands.schema import LongOperation, OperationState
from services.gateway.platform.commands.sending import Entity
from services.gateway.platform.commands.store import load_refusal, load_refusals
from services.gateway.platform.events.store import find_told
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_terms import SAFE
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Resource
from services.gateway.pools.operations import pools
from services.gateway.trials.operations import kill as killing
from shared.expressions.choosing import cell_of, meets
from shared.ids import SITE
from shared.messages.pools import ClusterView

Outcome = Callable[[AsyncConnection, Any], Awaitable[Resource | None]]
"""What came of an operation, as far as the caller sees it; None while nothing has."""


async def get_operation(call: Call, request: OperationRequest) -> LongOperation:
    """Shows how far an operation is that took longer than its request waited; who ordered it sees it."""
    name = parse_uuid(request.operation)
    async with call.as_reader().read() as connection:
        row = await store.load_ordered(connection, orderer_of(call), name) if name else None
        shown = await _render(connection, row) if row is not None and row.wanted is None else None
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
        shown = {row.id: await _render(connection, row) for row in found.rows if row.wanted is None}
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


async def _render(connection: AsyncConnection, row: Any) -> LongOperation:
    refusal = await load_refusal(connection, row.id)
    found = await OUTCOMES[row.operation](connection, row) if refusal is None else None
    return _shown(row, refusal, found)


async def _render_of_site(call: Call, rows: Sequence[Any]) -> list[LongOperation | None]:
    """What was asked of the site; its refusals come back to the site. None for who does not see machines any more."""
    if not call.caller.grants.holds(Permission.CLUSTER_READ):
        return [None for _ in rows]
    view = await load_cluster(call)
    async with call.doors.database.read(SITE) as connection:
        refusals = await load_refusals(connection, [row.id for row in rows])
    return [_shown(row, refusals.get(row.id), OF_THE_SITE[row.operation](row.wanted, view)) for row in rows]


def _shown(row: Any, refusal: Any | None, found: Resource | None) -> LongOperation:
    plain = {"id": row.id, "operation": row.operation, "created_at": row.created_at}
    if refusal is not None:
        told = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint}
        return LongOperation.model_validate({**plain, "state": OperationState.REFUSED, **told})
    state = OperationState.RUNNING if found is None else OperationState.DONE
    result = found.model_dump(mode="json") if found is not None else None
    return LongOperation.model_validate({**plain, "state": state, "result": result})


async def _reached(connection: AsyncConnection, row: Any) -> Resource | None:
    now = await experiments.load_experiment(connection, row.entity)
    is_there = now is not None and actions.ACTIONS[row.operation].reached(now, row.version)
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
    **dict.fromkeys(actions.ACTIONS, _reached),
    killing.OPERATION: killing.killed,
    "EditExperiment": partial(_edited, editing.TOLD),
    "EditSearch": partial(_edited, searching.TOLD),
    **dict.fromkeys(("DeleteExperiment", "DeleteWorkspace", "DeleteTenant"), deleting.deleted),
    **dict.fromkeys(models.ORDERING, partial(_told, models.MODEL)),
    **dict.fromkeys(versions.ORDERING, partial(_told, versions.VERSION)),
}
"""How each operation that orders something is seen to have worked."""


def _drained(wanted: Any, view: ClusterView) -> Resource | None:
    return draining.Drained.model_validate(wanted).seen_in(view)


def _drained_one(wanted: Any, view: ClusterView) -> Resource | None:
    page = draining.Drained.model_validate(wanted).seen_in(view)
    return page.items[0] if page is not None else None


def _switched(wanted: Any, view: ClusterView) -> Resource | None:
    return draining.Switched.model_validate(wanted).seen_in(view)


def _ruled(wanted: Any, view: ClusterView) -> Resource | None:
    return pools.Ruled.model_validate(wanted).seen_in(view)


OF_THE_SITE: dict[str, Callable[[Any, ClusterView], Resource | None]] = {
    **dict.fromkeys(("DrainWorker", "UndrainWorker"), _drained_one),
    **dict.fromkeys(("DrainWorkers", "UndrainWorkers"), _drained),
    **dict.fromkeys(("DisableSlot", "EnableSlot"), _switched),
    "EditPool": _ruled,
}
"""How what is asked of the site is seen to have worked, in the scheduler's view."""


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListOperations", "GET", "/v1/operations", ListOperationsRequest, LongOperationPage, Permission.SELF, SAFE, list_operations, waits=True),
    Operation("GetOperation", "GET", "/v1/operations/{operation}", OperationRequest, LongOperation, Permission.SELF, SAFE, get_operation, waits=True),
)
# fmt: on

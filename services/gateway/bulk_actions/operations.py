"""Bulk actions on experiments, chosen by reference or by a previewed filter."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Rejected
from services.gateway.bulk_actions.schema import (
    MOST_AT_ONCE,
    ActOnExperimentsRequest,
    BulkItem,
    BulkOutcome,
    ExperimentSelection,
    PreviewExperimentsRequest,
)
from services.gateway.bulk_actions.selection_tokens import (
    FIELD,
    LIFETIME,
    Selection,
    decode_selection,
    digest_of,
    encode_selection,
)
from services.gateway.experiments import store
from services.gateway.experiments.actions import ACTIONS, Action
from services.gateway.experiments.find import experiment_in
from services.gateway.experiments.render import render_experiment
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands import operation_store as long_operations
from services.gateway.platform.commands.long_operation_answers import requester_of, waiting_for_bus
from services.gateway.platform.commands.schema import OperationState
from services.gateway.platform.commands.sending import wait_for
from services.gateway.platform.commands.store import load_refusals
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, SAFE, WRITE_EXPERIMENT
from shared.ids import new_id

SAMPLE = 10


async def preview_experiments(call: Call, request: PreviewExperimentsRequest) -> ExperimentSelection:
    """Preview the experiments that match a filter and get a token to act on exactly these."""
    expires_at = (call.dependencies.clock.now() + LIFETIME).replace(microsecond=0)
    async with call.read() as connection:
        ids = await _load_met(connection, request.filter, request.archived)
        rows = await store.load_by_ids(connection, ids[:SAMPLE])
    token = None
    if 0 < len(ids) <= MOST_AT_ONCE:
        found = Selection(request.filter, request.archived, len(ids), digest_of(ids), expires_at)
        token = encode_selection(call.dependencies.keys.cursor, _scope(call), found)
    newest = sorted(rows, key=lambda row: row.number, reverse=True)
    return ExperimentSelection(
        count=len(ids),
        sample=[render_experiment(row) for row in newest],
        selection=token,
        expires_at=expires_at,
    )


async def act_on_experiments(call: Call, request: ActOnExperimentsRequest) -> BulkOutcome:
    """Apply one action to many experiments and report the result for each."""
    name = f"{request.action.capitalize()}Experiment"
    action = ACTIONS[name]
    async with call.read() as connection:
        rows = await _chosen(call, connection, request)
    items: dict[UUID, BulkItem] = {}
    pending: dict[UUID, tuple[UUID, int]] = {}
    for row in rows:
        items[row.id] = _judged(row, action)
        if items[row.id].state is OperationState.RUNNING:
            pending[row.id] = new_id(call.dependencies.clock), row.version
    call.set_audit_fields(
        before={str(row.number): row.state for row in rows}, entity=f"{len(rows)} experiments", code=name
    )
    async with call.transaction() as unit:
        for experiment, (operation, _) in pending.items():
            unit.emit(action.order(operation, experiment))

    async def look(connection: AsyncConnection) -> bool | None:
        await _settle(connection, action, items, pending)
        return None if pending else True

    if pending and await wait_for(call, new_id(call.dependencies.clock), look) is None:
        await _remember(call, name, pending)
        update = {"message": waiting_for_bus(call)}
        for experiment, (operation, _) in pending.items():
            items[experiment] = items[experiment].model_copy(update={"operation": operation, **update})
    return BulkOutcome(items=sorted(items.values(), key=lambda item: item.number))


async def _chosen(call: Call, connection: AsyncConnection, request: ActOnExperimentsRequest) -> Sequence[Any]:
    """Raises NotFound if a named experiment does not exist, and Conflict if the filter now matches others."""
    if bool(request.experiments) == (request.selection is not None):
        raise Rejected("invalid_request", "give either `experiments` or `selection`", "experiments")
    if request.selection is None:
        rows = [await experiment_in(connection, reference) for reference in request.experiments]
        return list({row.id: row for row in rows}.values())
    found = decode_selection(
        call.dependencies.keys.cursor, _scope(call), request.selection, call.dependencies.clock.now()
    )
    ids = await _load_met(connection, found.filter, found.archived)
    if digest_of(ids) != found.digest:
        raise Conflict(
            "selection_changed",
            f"the filter matched {found.count} experiments in the preview and matches {len(ids)} now"
            + (", but not the same ones" if len(ids) == found.count else ""),
            FIELD,
            "preview the filter again: GET /v1/bulk/experiments",
        )
    return await store.load_by_ids(connection, ids)


async def _load_met(connection: AsyncConnection, filter_: str, archived: bool) -> Sequence[UUID]:
    met, _ = PreviewExperimentsRequest.listing.read(filter_, "")
    return await store.load_matching_ids(connection, met, archived)


def _judged(row: Any, action: Action) -> BulkItem:
    """Return the result that is known before any command is sent."""
    known: dict[str, Any] = {"experiment": row.id, "number": row.number}
    if action.refused_as is not None and row.final:
        ended = f"experiment {row.number} has ended ({row.state}) and cannot be {action.refused_as}"
        return BulkItem(**known, state=OperationState.REFUSED, code="experiment_ended", message=ended)
    if action.reached(row, row.version):
        return BulkItem(**known, state=OperationState.DONE)
    if row.version == 0:
        new = f"the searcher has not picked up experiment {row.number} yet; try again in a moment"
        return BulkItem(**known, state=OperationState.REFUSED, code="still_working", message=new)
    return BulkItem(**known, state=OperationState.RUNNING)


async def _settle(
    connection: AsyncConnection,
    action: Action,
    items: dict[UUID, BulkItem],
    pending: dict[UUID, tuple[UUID, int]],
) -> None:
    """Move experiments whose command has taken effect or was refused out of `pending`."""
    refusals = await load_refusals(connection, [operation for operation, _ in pending.values()])
    for row in await store.load_by_ids(connection, list(pending)):
        operation, before = pending[row.id]
        if (refusal := refusals.get(operation)) is not None:
            update = {"state": OperationState.REFUSED, "code": refusal.code, "message": refusal.message}
        elif action.reached(row, before):
            update = {"state": OperationState.DONE}
        else:
            continue
        items[row.id] = items[row.id].model_copy(update=update)
        del pending[row.id]


async def _remember(call: Call, name: str, pending: dict[UUID, tuple[UUID, int]]) -> None:
    async with call.transaction() as unit:
        for experiment, (operation, before) in pending.items():
            values = {
                "tenant": call.tenant,
                "id": operation,
                "operation": name,
                "requester": requester_of(call),
                "entity": experiment,
                "version": before,
                "position": 0,
                "created_at": unit.now,
                "desired_state": None,
            }
            await long_operations.insert_long_operation(unit.connection, values)


def _scope(call: Call) -> str:
    return f"{call.tenant}:selection:{requester_of(call)}"


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("PreviewExperiments", "GET", "/v1/bulk/experiments", PreviewExperimentsRequest, ExperimentSelection, WRITE_EXPERIMENT, SAFE, preview_experiments),
    Operation("ActOnExperiments", "POST", "/v1/bulk/experiments", ActOnExperimentsRequest, BulkOutcome, WRITE_EXPERIMENT, NATURAL, act_on_experiments, waits=True),
)
# fmt: on

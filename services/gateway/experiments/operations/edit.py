"""Edit an experiment's scheduling policy: send a command to the scheduler and wait for its answer."""

from collections.abc import Sequence
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.operations.lifecycle import refuse_ended
from services.gateway.experiments.render import render_experiment_detail
from services.gateway.experiments.schema import EditExperimentRequest, ExperimentDetail
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.sending import send, wait_for
from services.gateway.platform.events.store import has_event_of_operation
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.policies.core import PolicyRules, RequestedQueueing, check_kept, check_requested
from services.gateway.policies.store import load_held, read_policies
from shared.ids import ExperimentId, PoolName, new_id
from shared.messages.base import Event
from shared.messages.queue import EditExperiment

_CLOCKS_APART = timedelta(minutes=1)
"""How far back to search the feed, which replicas with skewed clocks write too."""


async def edit_experiment(call: Call, request: EditExperimentRequest) -> ExperimentDetail:
    """Edit an experiment's priority, weight, pool, or limits of slots and trials. Omitted fields stay unchanged."""
    row = await find_experiment(call, request.experiment, load_held)
    before = render_experiment_detail(row)
    check_unchanged(call, before)
    refuse_ended(row, "changed")
    _check_changes(request)
    _check_policies(read_policies(row.policies or ()), request)
    if row.queue_policy is None:
        row = await _queued(call, row)
    command = EditExperiment(
        operation_id=new_id(call.dependencies.clock),
        experiment_id=ExperimentId(row.id),
        priority=request.priority,
        weight=request.weight,
        max_slots=request.max_slots,
        no_max_slots=request.no_max_slots,
        max_trials=request.max_trials,
        no_max_trials=request.no_max_trials,
        pool=PoolName(request.pool) if request.pool else None,
    )

    since = call.dependencies.clock.now() - _CLOCKS_APART
    seen = row.queue_policy["version"] if row.queue_policy else 0

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        applied = now.queue_policy if now is not None else None
        if not applied or applied["version"] <= seen:
            return None
        if applied["operation_id"] == str(command.operation_id):
            return now
        # Another change may have overwritten this one in the row; then only the feed shows that this one was applied.
        if not await has_event_of_operation(connection, since, row.id, command.operation_id):
            return None
        return await store.load_experiment(connection, row.id)

    def answered(ranked: Event) -> Any:
        """Return the experiment with the policy from the scheduler's answer."""
        return SimpleNamespace(**{**row._mapping, "queue_policy": ranked.model_dump(mode="json")})

    call.set_audit_fields(before=before)
    await send(call, command)
    try:
        found = await wait_for(call, command.operation_id, look, about=row.id, is_new=True, answered=answered)
    except NotFound:
        raise Conflict(
            "not_queued",
            f"experiment {row.number} is not in the queue yet",
            hint="try again in a moment",
        ) from None
    if found is None:
        now = render_experiment_detail(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, present=now)
    return render_experiment_detail(found)


def _check_changes(request: EditExperimentRequest) -> None:
    """Raises Rejected for an empty or contradictory change."""
    changes = request.model_dump(exclude={"experiment"}, exclude_defaults=True)
    if not changes:
        raise Rejected(
            "invalid_request",
            "the request changes nothing",
            hint="set at least one of priority, weight, max_slots, no_max_slots, max_trials, no_max_trials and pool",
        )
    for cap in ("max_slots", "max_trials"):
        if cap in changes and f"no_{cap}" in changes:
            message = f"{cap} and no_{cap} cannot be set together"
            raise Rejected("invalid_request", message, f"no_{cap}", "set one of them")


def _check_policies(policies: Sequence[PolicyRules], request: EditExperimentRequest) -> None:
    """Raises Rejected if the workspace's policies do not allow the change, as for a submission."""
    check_requested(policies, RequestedQueueing(priority=request.priority, max_slots=request.max_slots))
    if request.no_max_slots:
        check_kept(policies)


async def _queued(call: Call, row: Any) -> Any:
    """Wait briefly until the scheduler has ranked the experiment; it cannot apply an edit before."""

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and now.queue_policy is not None else None

    return await wait_for(call, row.id, look, about=row.id) or row

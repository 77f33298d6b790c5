"""Edit a running search: send a command to the searcher and wait for its answer."""

from datetime import UTC
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.operations.lifecycle import refuse_ended, wait_until_known
from services.gateway.experiments.render import render_experiment_detail
from services.gateway.experiments.schema import EditSearchRequest, ExperimentDetail
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.sending import send, wait_for
from services.gateway.platform.preconditions import guard
from shared.ids import ExperimentId, new_id
from shared.messages.experiments import EditSearch


async def edit_search(call: Call, request: EditSearchRequest) -> ExperimentDetail:
    """Edit the number of trials, the concurrency and the budget of a running search. Omitted fields stay unchanged."""
    row = await find_experiment(call, request.experiment)
    guarded = guard(call, render_experiment_detail(row), row.version)
    refuse_ended(row, "changed")
    changes = request.model_dump(exclude={"experiment"}, exclude_defaults=True)
    if not changes:
        hint = f"set at least one of {', '.join(name for name in EditSearchRequest.model_fields if name != 'experiment')}"
        raise Rejected("invalid_request", "the request changes nothing", hint=hint)
    lifted = _lifted(changes)
    if (deadline := changes.get("deadline")) is not None and deadline.tzinfo is None:
        changes["deadline"] = deadline.replace(tzinfo=UTC)
    if row.version == 0:
        await wait_until_known(call, row)
    command = EditSearch(
        operation_id=new_id(call.dependencies.clock),
        experiment_id=ExperimentId(row.id),
        lifted=lifted,
        **changes,
        **guarded,
    )

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        applied = now.search_changes if now is not None else None
        return now if applied and applied["operation_id"] == str(command.operation_id) else None

    call.set_audit_fields(before=render_experiment_detail(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look, about=row.id, is_new=True)
    if found is None:
        now = render_experiment_detail(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, present=now)
    return render_experiment_detail(found)


def _lifted(changes: dict[str, Any]) -> list[str]:
    """Return the limits to remove, and delete their flags from `changes`. Raises Rejected if a limit is also set."""
    lifted = [limit for limit in ("slot_hours", "cost", "deadline") if changes.pop(f"no_{limit}", False)]
    for limit in lifted:
        if limit in changes:
            message = f"{limit} and no_{limit} cannot be set together"
            raise Rejected("invalid_request", message, f"no_{limit}", "set one of them")
    return lifted

"""Changing how far a running search goes: a command to the searcher, whose answer is waited for."""

from datetime import UTC
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Rejected
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.operations.lifecycle import refuse_ended, wait_until_known
from services.gateway.experiments.render import render_experiment_detail
from services.gateway.experiments.schema import EditSearchRequest, ExperimentDetail
from services.gateway.platform.call import Call
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.sending import send, wait_for
from services.gateway.platform.preconditions import guard
from shared.ids import ExperimentId, new_id
from shared.messages.experiments import EditSearch


async def edit_search(call: Call, request: EditSearchRequest) -> ExperimentDetail:
    """Changes how many trials a running search makes, how many at once, and its budget; what is left out stays."""
    row = await find_experiment(call, request.experiment)
    guarded = guard(call, render_experiment_detail(row), row.version)
    refuse_ended(row, "changed")
    changes = request.model_dump(exclude={"experiment"}, exclude_defaults=True)
    if not changes:
        hint = f"give at least one of {', '.join(name for name in EditSearchRequest.model_fields if name != 'experiment')}"
        raise Rejected("invalid_request", "nothing is to be changed", hint=hint)
    lifted = _lifted(changes)
    if (deadline := changes.get("deadline")) is not None and deadline.tzinfo is None:
        changes["deadline"] = deadline.replace(tzinfo=UTC)
    if row.version == 0:
        await wait_until_known(call, row)
    command = EditSearch(
        operation_id=new_id(call.doors.clock),
        experiment_id=ExperimentId(row.id),
        lifted=lifted,
        **changes,
        **guarded,
    )

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        told = now.terms if now is not None else None
        return now if told and told["operation_id"] == str(command.operation_id) else None

    call.note(before=render_experiment_detail(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look, about=row.id, is_new=True)
    if found is None:
        now = render_experiment_detail(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, present=now)
    return render_experiment_detail(found)


def _lifted(changes: dict[str, Any]) -> list[str]:
    """The limits that are taken away; their marks are taken out of `changes`. Raises Rejected where one is given too."""
    lifted = [limit for limit in ("slot_hours", "cost", "deadline") if changes.pop(f"no_{limit}", False)]
    for limit in lifted:
        if limit in changes:
            message = f"{limit} is given and taken away at once"
            raise Rejected("invalid_request", message, f"no_{limit}", "leave one out")
    return lifted

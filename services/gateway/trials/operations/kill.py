"""Operation that kills one trial, by a command to the searcher. The search continues without the trial."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred
from services.gateway.platform.commands.outcomes import TenantOutcome
from services.gateway.platform.commands.sending import send, wait_for
from services.gateway.trials import store as trial_store
from services.gateway.trials.find import find_trial
from services.gateway.trials.render import render_trial
from services.gateway.trials.schema import Trial, TrialRequest
from shared.ids import ExperimentId, new_id
from shared.messages.experiments import KillTrial


async def kill_trial(call: Call, request: TrialRequest) -> Trial:
    """Kill a trial at once, without a final checkpoint. The search continues without it."""
    row = await find_trial(call, request.trial)
    if row.state == "cancelled":
        return _render(row)
    name = f"{row.experiment_number}.{row.number}"
    if row.last_event["final"]:
        raise Conflict(
            "trial_ended",
            f"trial {name} has already ended ({row.state}), so it cannot be killed",
            "trial",
            f"`muster trial describe {name}` shows how it ended",
        )
    before = row.version
    command = KillTrial(
        operation_id=new_id(call.dependencies.clock),
        experiment_id=ExperimentId(row.experiment),
        trial_number=row.number,
    )

    async def look(connection: AsyncConnection) -> Any:
        now = await trial_store.load_trial(connection, row.id)
        return now if now is not None and is_killed(now, before) else None

    call.set_audit_fields(before=_render(row))
    await send(call, command)
    # Changes of trials do not wake waiters for their experiment.
    found = await wait_for(call, command.operation_id, look, is_new=True)
    if found is None:
        now = _render(await find_trial(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, version=before, present=now)
    return _render(found)


async def killed(connection: AsyncConnection, row: Any) -> Trial | None:
    """Find the killed trial of a long operation; None while the searcher has not answered."""
    now = await trial_store.load_trial(connection, row.entity)
    return _render(now) if now is not None and is_killed(now, row.version) else None


KILLED = TenantOutcome(killed)


def is_killed(row: Any, before: int) -> bool:
    """Whether the searcher has carried out a kill, given the trial's previous version. It publishes a change for every kill."""
    return bool(row.last_event["final"]) or (row.state == "stopping" and row.version > before)


def _render(row: Any) -> Trial:
    return render_trial(row, row.experiment_number, row.config)

"""Killing one trial: a command to the searcher, whose search goes on without it."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.platform.call import Call
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
    """Ends a trial at once, without a last checkpoint; its search goes on without it."""
    row = await find_trial(call, request.trial)
    if row.state == "cancelled":
        return _shown(row)
    name = f"{row.experiment_number}.{row.number}"
    if row.changed["final"]:
        raise Conflict(
            "trial_ended",
            f"trial {name} has ended ({row.state}) and cannot be killed: only a trial that has not ended can be",
            "trial",
            f"`muster trial describe {name}` tells how it ended",
        )
    before = row.version
    command = KillTrial(
        operation_id=new_id(call.doors.clock),
        experiment_id=ExperimentId(row.experiment),
        trial_number=row.number,
    )

    async def look(connection: AsyncConnection) -> Any:
        now = await trial_store.load_trial(connection, row.id)
        return now if now is not None and is_killed(now, before) else None

    call.note(before=_shown(row))
    await send(call, command)
    # Waiters for one experiment are not woken by changes of its trials.
    found = await wait_for(call, command.operation_id, look, is_new=True)
    if found is None:
        now = _shown(await find_trial(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, version=before, present=now)
    return _shown(found)


async def killed(connection: AsyncConnection, row: Any) -> Trial | None:
    """The trial of a kill that took longer than its request waited; None while the searcher has not answered."""
    now = await trial_store.load_trial(connection, row.entity)
    return _shown(now) if now is not None and is_killed(now, row.version) else None


KILLED = TenantOutcome(killed)


def is_killed(row: Any, before: int) -> bool:
    """Whether the searcher has carried a kill out, given the version that the trial had before. It announces each by a change."""
    return bool(row.changed["final"]) or (row.state == "stopping" and row.version > before)


def _shown(row: Any) -> Trial:
    return render_trial(row, row.experiment_number, row.config)

"""Pausing, resuming, ending and archiving experiments: commands to the searcher."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Transient
from services.gateway.experiments import store
from services.gateway.experiments.actions import ACTIONS
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.render import render_experiment
from services.gateway.experiments.schema import Experiment, ExperimentRequest
from services.gateway.platform.call import Call
from services.gateway.platform.commands.long_operation_answers import deferred, waiting_for_bus
from services.gateway.platform.commands.sending import send, wait_for
from shared.ids import new_id


async def pause_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Pauses an experiment: its trials save and give their slots back."""
    return await _act(call, request)


async def resume_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Resumes a paused experiment."""
    return await _act(call, request)


async def cancel_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment gently: its trials are asked to save and stop."""
    return await _act(call, request)


async def kill_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment at once."""
    return await _act(call, request)


async def finish_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends a search early, as completed, with the best so far: its trials are asked to save and stop."""
    return await _act(call, request)


async def archive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Hides an ended experiment from the usual lists."""
    return await _act(call, request)


async def unarchive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Shows an archived experiment in the usual lists again."""
    return await _act(call, request)


def refuse_ended(row: Any, what: str) -> None:
    """Raises Conflict for an experiment of which nothing can change any more."""
    if row.final:
        raise Conflict(
            "experiment_ended",
            f"experiment {row.number} has ended ({row.state}) and cannot be {what}",
            hint="fork it to go on from here",
        )


async def _act(call: Call, request: ExperimentRequest) -> Experiment:
    """Sends the command unless it is done already; shows the experiment as it is then. Raises StillWorking after the wait."""
    action = ACTIONS[call.operation]
    row = await find_experiment(call, request.experiment)
    if action.while_going is not None:
        refuse_ended(row, action.while_going)
    before = row.version
    if action.reached(row, before):
        return render_experiment(row)
    if before == 0:
        await wait_until_known(call, row)
    command = action.order(new_id(call.doors.clock), row.id)

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and action.reached(now, before) else None

    call.note(before=render_experiment(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look, about=row.id, is_new=True)
    if found is None:
        now = render_experiment(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, version=before, present=now)
    return render_experiment(found)


async def wait_until_known(call: Call, row: Any) -> None:
    """Waits until the searcher knows the experiment: a command that came before it would be refused.

    Raises Transient where that takes too long.
    """

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and now.version > 0 else None

    if await wait_for(call, row.id, look, about=row.id) is None:
        why = f" ({waiting})" if (waiting := waiting_for_bus(call)) else ""
        raise Transient(
            f"the searcher has not taken experiment {row.number} up yet{why}: nothing was changed, try again later",
            1.0,
            "still_working",
        )

"""Pause, resume, end and archive experiments: commands to the searcher."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Transient
from services.gateway.experiments import store
from services.gateway.experiments.actions import ACTIONS
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.render import render_experiment
from services.gateway.experiments.schema import Experiment, ExperimentRequest
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.long_operation_answers import deferred, waiting_for_bus
from services.gateway.platform.commands.sending import send, wait_for
from shared.ids import new_id


async def pause_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Pause an experiment: its trials save and release their slots."""
    return await _act(call, request)


async def resume_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Resume a paused experiment."""
    return await _act(call, request)


async def cancel_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Cancel an experiment: its trials are asked to save and stop."""
    return await _act(call, request)


async def kill_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Kill an experiment: its trials end at once."""
    return await _act(call, request)


async def finish_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Complete a search early with the best result so far: its trials are asked to save and stop."""
    return await _act(call, request)


async def archive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Archive an ended experiment: lists hide it by default."""
    return await _act(call, request)


async def unarchive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Unarchive an experiment: lists show it again."""
    return await _act(call, request)


def refuse_ended(row: Any, what: str) -> None:
    """Raises Conflict if the experiment has ended."""
    if row.final:
        raise Conflict(
            "experiment_ended",
            f"experiment {row.number} has ended ({row.state}) and cannot be {what}",
            hint="fork it to start a new experiment from its config",
        )


async def _act(call: Call, request: ExperimentRequest) -> Experiment:
    """Send the command unless its effect is already reached, and return the experiment. Raises StillWorking after the wait."""
    action = ACTIONS[call.operation]
    row = await find_experiment(call, request.experiment)
    if action.refused_as is not None:
        refuse_ended(row, action.refused_as)
    before = row.version
    if action.reached(row, before):
        return render_experiment(row)
    if before == 0:
        await wait_until_known(call, row)
    command = action.order(new_id(call.dependencies.clock), row.id)

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and action.reached(now, before) else None

    call.set_audit_fields(before=render_experiment(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look, about=row.id, is_new=True)
    if found is None:
        now = render_experiment(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, version=before, present=now)
    return render_experiment(found)


async def wait_until_known(call: Call, row: Any) -> None:
    """Wait until the searcher knows the experiment; it refuses commands before.

    Raises Transient if that takes too long.
    """

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and now.version > 0 else None

    if await wait_for(call, row.id, look, about=row.id) is None:
        why = f" ({waiting})" if (waiting := waiting_for_bus(call)) else ""
        raise Transient(
            f"nothing was changed: the searcher has not picked up experiment {row.number} yet{why}; try again later",
            1.0,
            "still_working",
        )

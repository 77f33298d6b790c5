"""Pausing, resuming, ending and archiving experiments: commands to the searcher."""

from collections.abc import Callable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Transient
from services.gateway.api.experiments import Experiment, ExperimentRequest
from services.gateway.operations.call import Call
from services.gateway.operations.commands import send, wait_for
from services.gateway.operations.find import find_experiment
from services.gateway.operations.render_experiments import render_experiment
from services.gateway.store import experiments as store
from shared.ids import ExperimentId, new_id
from shared.messages import experiments as messages
from shared.messages.base import Command

Reached = Callable[[Any], bool]


async def pause_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Pauses an experiment: its trials save and give their slots back."""
    row = await find_experiment(call, request.experiment)
    refuse_ended(row, "paused")
    command = messages.PauseExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id)
    )
    return await _command(call, row, command, lambda now: now.state == "paused" or now.final)


async def resume_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Resumes a paused experiment."""
    row = await find_experiment(call, request.experiment)
    refuse_ended(row, "resumed")
    command = messages.ResumeExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id)
    )
    return await _command(call, row, command, lambda now: now.state == "active" or now.final)


async def cancel_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment gently: its trials are asked to save and stop."""
    row = await find_experiment(call, request.experiment)
    command = messages.CancelExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id)
    )
    return await _command(call, row, command, _ending)


async def kill_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment at once."""
    row = await find_experiment(call, request.experiment)
    command = messages.KillExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id)
    )
    if row.state == "stopping":
        return await _command(call, row, command, lambda now: now.final or now.version > row.version)
    return await _command(call, row, command, _ending)


async def finish_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends a search early, as completed, with the best so far: its trials are asked to save and stop."""
    row = await find_experiment(call, request.experiment)
    command = messages.FinishExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id)
    )
    return await _command(call, row, command, _ending)


async def archive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Hides an ended experiment from the usual lists."""
    return await _archive(call, request, archived=True)


async def unarchive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Shows an archived experiment in the usual lists again."""
    return await _archive(call, request, archived=False)


async def _archive(call: Call, request: ExperimentRequest, archived: bool) -> Experiment:
    row = await find_experiment(call, request.experiment)
    command = messages.ArchiveExperiment(
        operation_id=new_id(call.doors.clock), experiment_id=ExperimentId(row.id), archived=archived
    )
    return await _command(call, row, command, lambda now: now.archived == archived)


def refuse_ended(row: Any, what: str) -> None:
    """Raises Conflict for an experiment of which nothing can change any more."""
    if row.final:
        raise Conflict(
            "experiment_ended",
            f"experiment {row.number} has ended ({row.state}) and cannot be {what}",
            hint="fork it to go on from here",
        )


async def _command(call: Call, row: Any, command: Command, reached: Reached) -> Experiment:
    """Sends the command unless it is done already; shows the experiment as it is after the wait."""
    if reached(row):
        return render_experiment(row)
    if row.version == 0:
        await taken_up(call, row)

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and reached(now) else None

    call.note(before=render_experiment(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look)
    return render_experiment(found if found is not None else await find_experiment(call, str(row.id)))


async def taken_up(call: Call, row: Any) -> None:
    """Waits until the searcher knows the experiment: a command that came before it would be refused.

    Raises Transient where that takes too long.
    """

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and now.version > 0 else None

    if await wait_for(call, row.id, look) is None:
        raise Transient("the searcher has not taken the experiment up yet", 1.0, "still_working")


def _ending(row: Any) -> bool:
    return bool(row.final) or row.state == "stopping"

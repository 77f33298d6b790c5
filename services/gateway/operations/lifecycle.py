"""Pausing, resuming, ending and archiving experiments: commands to the searcher."""

from collections.abc import Callable
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Transient
from services.gateway.api.experiments import Experiment, ExperimentRequest
from services.gateway.operations.call import Call
from services.gateway.operations.commands import send, wait_for
from services.gateway.operations.deferring import deferred
from services.gateway.operations.find import find_experiment
from services.gateway.operations.render_experiments import render_experiment
from services.gateway.store import experiments as store
from shared.ids import ExperimentId, new_id
from shared.messages import experiments as messages
from shared.messages.base import Command

Reached = Callable[[Any, int], bool]
"""Whether an experiment's row is as it was wanted, given the version that it had before."""


async def pause_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Pauses an experiment: its trials save and give their slots back."""
    row = await find_experiment(call, request.experiment)
    refuse_ended(row, "paused")
    return await _command(call, row, messages.PauseExperiment)


async def resume_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Resumes a paused experiment."""
    row = await find_experiment(call, request.experiment)
    refuse_ended(row, "resumed")
    return await _command(call, row, messages.ResumeExperiment)


async def cancel_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment gently: its trials are asked to save and stop."""
    return await _command(call, await find_experiment(call, request.experiment), messages.CancelExperiment)


async def kill_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends an experiment at once."""
    return await _command(call, await find_experiment(call, request.experiment), messages.KillExperiment)


async def finish_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Ends a search early, as completed, with the best so far: its trials are asked to save and stop."""
    return await _command(call, await find_experiment(call, request.experiment), messages.FinishExperiment)


async def archive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Hides an ended experiment from the usual lists."""
    row = await find_experiment(call, request.experiment)
    return await _command(call, row, messages.ArchiveExperiment, archived=True)


async def unarchive_experiment(call: Call, request: ExperimentRequest) -> Experiment:
    """Shows an archived experiment in the usual lists again."""
    row = await find_experiment(call, request.experiment)
    return await _command(call, row, messages.ArchiveExperiment, archived=False)


def refuse_ended(row: Any, what: str) -> None:
    """Raises Conflict for an experiment of which nothing can change any more."""
    if row.final:
        raise Conflict(
            "experiment_ended",
            f"experiment {row.number} has ended ({row.state}) and cannot be {what}",
            hint="fork it to go on from here",
        )


async def _command(call: Call, row: Any, kind: type[Command], **wishes: bool) -> Experiment:
    """Sends the command unless it is done already; shows the experiment as it is then. Raises StillWorking after the wait."""
    reached, before = REACHED[call.operation], row.version
    if reached(row, before):
        return render_experiment(row)
    if before == 0:
        await taken_up(call, row)
    about = {"operation_id": new_id(call.doors.clock), "experiment_id": ExperimentId(row.id)}
    command = kind.model_validate(about | wishes)

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and reached(now, before) else None

    call.note(before=render_experiment(row))
    await send(call, command)
    found = await wait_for(call, command.operation_id, look)
    if found is None:
        now = render_experiment(await find_experiment(call, str(row.id)))
        raise await deferred(call, command.operation_id, entity=row.id, version=before, present=now)
    return render_experiment(found)


async def taken_up(call: Call, row: Any) -> None:
    """Waits until the searcher knows the experiment: a command that came before it would be refused.

    Raises Transient where that takes too long.
    """

    async def look(connection: AsyncConnection) -> Any:
        now = await store.load_experiment(connection, row.id)
        return now if now is not None and now.version > 0 else None

    if await wait_for(call, row.id, look) is None:
        raise Transient("the searcher has not taken the experiment up yet", 1.0, "still_working")


def _ending(row: Any, _: int) -> bool:
    return bool(row.final) or row.state == "stopping"


REACHED: dict[str, Reached] = {
    "PauseExperiment": lambda now, _: now.final or now.state == "paused",
    "ResumeExperiment": lambda now, _: now.final or now.state == "active",
    "CancelExperiment": _ending,
    "FinishExperiment": _ending,
    # One that is stopping already is killed all the same: it is told by its next change.
    "KillExperiment": lambda now, before: now.final or (now.state == "stopping" and now.version > before),
    "ArchiveExperiment": lambda now, _: now.archived,
    "UnarchiveExperiment": lambda now, _: not now.archived,
}
"""By operation, how an experiment is seen to be what was wanted of it."""

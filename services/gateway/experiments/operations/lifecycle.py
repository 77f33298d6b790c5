"""Pausing, resuming, ending and archiving experiments: commands to the searcher."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Transient
from services.gateway.experiments import store
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.render import render_experiment
from services.gateway.experiments.schema import Experiment, ExperimentRequest
from services.gateway.health.operations import waiting_for_bus
from services.gateway.platform.call import Call
from services.gateway.platform.commands.deferring import deferred
from services.gateway.platform.commands.sending import send, wait_for
from shared.ids import ExperimentId, new_id
from shared.messages import experiments as messages
from shared.messages.base import Command

Reached = Callable[[Any, int], bool]
"""Whether an experiment's row is as it was wanted, given the version that it had before."""


@dataclass(frozen=True, slots=True)
class Action:
    """How an experiment is told, and how it is seen to be what was wanted of it."""

    command: type[Command]
    reached: Reached
    while_going: str | None = None
    """What one that has ended cannot be any more; None: it is asked all the same."""
    wishes: Mapping[str, bool] = field(default_factory=dict)

    def order(self, operation_id: UUID, experiment: UUID) -> Command:
        """The command to the searcher."""
        about = {"operation_id": operation_id, "experiment_id": ExperimentId(experiment)}
        return self.command.model_validate({**about, **self.wishes})


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
        await taken_up(call, row)
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


async def taken_up(call: Call, row: Any) -> None:
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


def _ending(row: Any, _: int) -> bool:
    return bool(row.final) or row.state == "stopping"


ACTIONS: Mapping[str, Action] = {
    "PauseExperiment": Action(
        messages.PauseExperiment, lambda now, _: now.final or now.state == "paused", "paused"
    ),
    "ResumeExperiment": Action(
        messages.ResumeExperiment, lambda now, _: now.final or now.state == "active", "resumed"
    ),
    "CancelExperiment": Action(messages.CancelExperiment, _ending),
    "FinishExperiment": Action(messages.FinishExperiment, _ending),
    # One that is stopping already is killed all the same: it is told by its next change.
    "KillExperiment": Action(
        messages.KillExperiment,
        lambda now, before: now.final or (now.state == "stopping" and now.version > before),
    ),
    "ArchiveExperiment": Action(
        messages.ArchiveExperiment, lambda now, _: now.archived, wishes={"archived": True}
    ),
    "UnarchiveExperiment": Action(
        messages.ArchiveExperiment, lambda now, _: not now.archived, wishes={"archived": False}
    ),
}
"""By operation."""

"""Handle commands for experiments and trials. The answer is `experiment.changed` (`trial.changed`) or `operation.refused`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from services.searcher.core.budget.ledger import BudgetUsage
from services.searcher.core.budget.limits import millis
from services.searcher.core.editing import SearchEdit
from services.searcher.core.experiment.entities import ExperimentRecord, trial_id
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.commands import (
    archive,
    cancel,
    edit_search,
    finish,
    kill_trial,
    pause,
    resume,
)
from services.searcher.runner.dispatcher import Dispatcher, Reducer
from services.searcher.store import entities
from services.searcher.store.entities import Locked
from shared.bus import Delivery, Unit
from shared.errors import Conflict, MusterError, NotFound, Rejected
from shared.messages.base import Command
from shared.messages.experiments import (
    ArchiveExperiment,
    CancelExperiment,
    EditSearch,
    FinishExperiment,
    KillExperiment,
    KillTrial,
    OperationRefused,
    PauseExperiment,
    ResumeExperiment,
)
from shared.messages.trial_specs import DesiredState

ExperimentCommand = (
    PauseExperiment
    | ResumeExperiment
    | CancelExperiment
    | KillExperiment
    | KillTrial
    | FinishExperiment
    | EditSearch
    | ArchiveExperiment
)
C = TypeVar("C", bound=ExperimentCommand)
Lock = Callable[[Unit, C], Awaitable[Locked]]
"""Lock the experiment and the trials that a command changes."""


@dataclass(frozen=True, slots=True)
class CommandHandlers:
    dispatcher: Dispatcher

    async def on_pause(self, unit: Unit, batch: list[Delivery[PauseExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, _: pause(changes))

    async def on_resume(self, unit: Unit, batch: list[Delivery[ResumeExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, _: resume(changes))

    async def on_cancel(self, unit: Unit, batch: list[Delivery[CancelExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, _: cancel(changes, DesiredState.CANCEL))

    async def on_kill(self, unit: Unit, batch: list[Delivery[KillExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, _: cancel(changes, DesiredState.KILL))

    async def on_finish(self, unit: Unit, batch: list[Delivery[FinishExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, _: finish(changes))

    async def on_archive(self, unit: Unit, batch: list[Delivery[ArchiveExperiment]]) -> None:
        await self._carry_out(unit, batch, lambda changes, command: archive(changes, command.archived))

    async def on_kill_trial(self, unit: Unit, batch: list[Delivery[KillTrial]]) -> None:
        """Kill single trials without loading the other trials of the experiment."""
        await self._carry_out(
            unit, batch, lambda changes, command: kill_trial(changes, command.trial_number), _lock_trial
        )

    async def on_edit(self, unit: Unit, batch: list[Delivery[EditSearch]]) -> None:
        """Edit a search. If it gets its first budget, the usage of its ended trials counts too."""
        for delivery in batch:
            past = await entities.load_used(unit.connection, delivery.message.experiment_id)

            def change(changes: Changes, command: EditSearch, past: BudgetUsage = past) -> None:
                price = self.dispatcher.price_of(changes.config)
                edit_search(changes, _edit(command), command.operation_id, past, price)

            await self._carry_out(unit, [delivery], change)

    async def _carry_out(
        self, unit: Unit, batch: list[Delivery[C]], reducer: Reducer[C], lock: Lock[C] | None = None
    ) -> None:
        for delivery in batch:
            command = delivery.message
            try:
                locked = await (lock or _lock_live)(unit, command)
                _check_version(command, locked.experiment)
                done = await self.dispatcher.reduce(unit, locked, reducer, [command], [delivery])
            except (Rejected, Conflict) as error:
                unit.emit(_refused(command, error), cause=delivery)
            else:
                await self.dispatcher.finish(unit, [done])


async def _lock_live(unit: Unit, command: ExperimentCommand) -> Locked:
    """Lock the command's experiment with all its live trials. Raises NotFound."""
    experiment = await entities.lock_experiment(unit.connection, command.experiment_id)
    if experiment is None:
        raise NotFound(f"experiment {command.experiment_id}")
    return Locked(experiment, await entities.lock_live_trials(unit.connection, experiment.id))


async def _lock_trial(unit: Unit, command: KillTrial) -> Locked:
    """Lock the command's trial with its experiment. Raises NotFound."""
    trial = trial_id(command.experiment_id, command.trial_number)
    for locked in await entities.lock_by_trials(unit.connection, [trial]):
        return locked
    raise NotFound(f"trial {command.trial_number} of experiment {command.experiment_id}")


def _edit(command: EditSearch) -> SearchEdit:
    return SearchEdit(
        max_trials=command.max_trials,
        max_concurrent_trials=command.max_concurrent_trials,
        slot_hours=command.slot_hours,
        cost=command.cost,
        deadline_ms=None if command.deadline is None else millis(command.deadline),
        lifted=command.lifted,
    )


def _check_version(command: Command, experiment: ExperimentRecord) -> None:
    expected = command.expected_version
    if expected is not None and expected != experiment.version:
        raise Conflict(
            "version_changed",
            f"the experiment is at version {experiment.version}, not {expected} as expected",
        )


def _refused(command: Command, error: MusterError) -> OperationRefused:
    return OperationRefused(
        operation_id=command.operation_id, code=error.code, message=error.message, hint=error.hint
    )

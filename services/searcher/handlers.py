"""One function per message type: what the searcher does when something was committed, granted, stored or wished."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from services.searcher.core.budget.ledger import Holding, Used
from services.searcher.core.budget.limits import millis
from services.searcher.core.editing import Edit
from services.searcher.core.experiment.entities import Checkpoint, Closed, Ended, Experiment, trial_id
from services.searcher.core.experiment.results import Result
from services.searcher.core.reducers.turn import Turn
from services.searcher.runner.dispatcher import Desk, Done, advance
from services.searcher.store import entities
from services.searcher.store.capacity import keep_capacity
from services.searcher.store.entities import Locked
from services.searcher.submissions import Submissions
from shared.bus import Delivery, Unit
from shared.bus.consumer import Handlers
from shared.bus.envelope import news
from shared.errors import Conflict, MusterError, NotFound, Rejected
from shared.messages.base import Command
from shared.messages.checkpoints import (
    CheckpointAbandoned,
    CheckpointCorrupt,
    CheckpointEvent,
    CheckpointSaved,
    UploadsDelayed,
)
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
    SubmissionCommitted,
)
from shared.messages.pools import PoolCapacity
from shared.messages.queue import RequestClosed
from shared.messages.reports import ValidationsSuperseded, ValidationStored
from shared.messages.runs import RunEnded, RunGranted, RunResized, RunState
from shared.messages.specs import Wanted

Lock = Callable[[Unit, Any], Awaitable[Locked]]
"""Locks the experiment and the trials that a command changes."""
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


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """What happened elsewhere."""

    desk: Desk

    def handlers(self) -> Handlers:
        """In the order in which one batch is told: results before the ends of their runs and requests, and what is missing then after them."""
        return {
            SubmissionCommitted: Submissions(self.desk).on_submissions,
            RunGranted: self.on_granted,
            RunResized: self.on_resized,
            ValidationsSuperseded: self.on_superseded,
            ValidationStored: self.on_validations,
            CheckpointSaved: self.on_checkpoints,
            CheckpointAbandoned: self.on_checkpoints,
            CheckpointCorrupt: self.on_checkpoints,
            RunEnded: self.on_ended,
            RequestClosed: self.on_closed,
            UploadsDelayed: self.on_delayed,
            PoolCapacity: self.on_capacity,
        }

    async def on_capacity(self, unit: Unit, batch: list[Delivery[PoolCapacity]]) -> None:
        """Keep what a pool has idle; searches are widened by it apart from here, since they belong to tenants."""
        for delivery in batch:
            await keep_capacity(unit.connection, delivery.message)
        unit.then(partial(self.desk.see_capacity, [delivery.message for delivery in batch]))

    async def on_granted(self, unit: Unit, batch: list[Delivery[RunGranted]]) -> None:
        def apply(turn: Turn, number: int, message: RunGranted) -> None:
            turn.on_granted(number, message.number, self._holding(message))

        await self.desk.on_trials(unit, batch, apply)

    async def on_resized(self, unit: Unit, batch: list[Delivery[RunResized]]) -> None:
        """The message does not say since when: it counts from now."""

        def apply(turn: Turn, number: int, message: RunResized) -> None:
            turn.on_resized(number, message.number, self._holding(message, since=unit.now))

        await self.desk.on_trials(unit, news(batch), apply)

    async def on_validations(self, unit: Unit, batch: list[Delivery[ValidationStored]]) -> None:
        def apply(turn: Turn, number: int, message: ValidationStored) -> None:
            turn.on_validation(
                Result(
                    trial=number,
                    run=message.run_number,
                    number=message.number,
                    step=message.step,
                    values=message.values,
                    is_stale=message.stale,
                )
            )

        await self.desk.on_trials(unit, batch, apply)

    async def on_superseded(self, unit: Unit, batch: list[Delivery[ValidationsSuperseded]]) -> None:
        def apply(turn: Turn, number: int, message: ValidationsSuperseded) -> None:
            standing = [(one.step, one.values) for one in message.standing]
            turn.on_superseded(number, message.run_number, message.step, standing)

        await self.desk.on_trials(unit, news(batch), apply)

    async def on_checkpoints(self, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        def apply(turn: Turn, number: int, message: CheckpointEvent) -> None:
            is_good = isinstance(message, CheckpointSaved)
            found = Checkpoint(
                message.checkpoint_id, message.run_number, message.step, is_good, message.settles
            )
            turn.on_checkpoint(number, found)

        await self.desk.on_trials(unit, news(batch), apply)

    async def on_delayed(self, unit: Unit, batch: list[Delivery[UploadsDelayed]]) -> None:
        def apply(turn: Turn, number: int, message: UploadsDelayed) -> None:
            turn.on_delayed(number, message.run_number, message.reason)

        await self.desk.on_trials(unit, news(batch), apply)

    async def on_ended(self, unit: Unit, batch: list[Delivery[RunEnded]]) -> None:
        def apply(turn: Turn, number: int, message: RunEnded) -> None:
            ended = Ended(message.number, message.validations, message.checkpoints)
            holding = self._holding(message, until=message.ended_at)
            turn.on_run_ended(number, ended, is_requeued=message.next == "requeued", holding=holding)

        await self.desk.on_trials(unit, batch, apply)

    async def on_closed(self, unit: Unit, batch: list[Delivery[RequestClosed]]) -> None:
        def apply(turn: Turn, number: int, message: RequestClosed) -> None:
            outcome = "invalid" if message.invalid else message.outcome
            closed = Closed(outcome, message.runs, message.reason, unit.now)
            turn.on_closed(number, message.request, closed)

        await self.desk.on_trials(unit, batch, apply)

    def _holding(
        self, run: RunState, since: datetime | None = None, until: datetime | None = None
    ) -> Holding:
        return Holding(
            slots=sum(member.part / 1000 or member.slots for member in run.members),
            since_ms=millis(since or run.granted_at),
            until_ms=None if until is None else millis(until),
            price=self.desk.prices.get(run.pool, 0.0),
            pool=run.pool,
        )


@dataclass(frozen=True, slots=True)
class CommandHandlers:
    """What people wish."""

    desk: Desk

    def handlers(self) -> Handlers:
        return {
            PauseExperiment: self._handler(lambda turn, _: turn.pause()),
            ResumeExperiment: self._handler(lambda turn, _: turn.resume()),
            CancelExperiment: self._handler(lambda turn, _: turn.cancel(Wanted.CANCEL)),
            KillExperiment: self._handler(lambda turn, _: turn.cancel(Wanted.KILL)),
            KillTrial: self._on_trial_kills,
            FinishExperiment: self._handler(lambda turn, _: turn.finish()),
            EditSearch: self._on_edits,
            ArchiveExperiment: self._handler(lambda turn, command: turn.archive(command.archived)),
        }

    async def _on_trial_kills(self, unit: Unit, batch: list[Delivery[KillTrial]]) -> None:
        """Kill single trials: no other trial of the experiment is loaded."""
        for delivery in batch:
            await self._carry_out(unit, delivery, _kill_trial, _lock_trial)

    async def _on_edits(self, unit: Unit, batch: list[Delivery[EditSearch]]) -> None:
        """A search that gets its first budget must know what its trials have used that are over."""
        for delivery in batch:
            past = await entities.load_used(unit.connection, delivery.message.experiment_id)
            await self._carry_out(unit, delivery, partial(self._edit, past=past))

    def _edit(self, turn: Turn, command: EditSearch, past: Used) -> None:
        edit = Edit(
            max_trials=command.max_trials,
            max_concurrent_trials=command.max_concurrent_trials,
            slot_hours=command.slot_hours,
            cost=command.cost,
            deadline_ms=None if command.deadline is None else millis(command.deadline),
            lifted=command.lifted,
        )
        turn.edit(edit, command.operation_id, past, self.desk.price_of(turn.config))

    def _handler(self, act: Callable[[Turn, Any], None]) -> Callable[[Unit, list[Delivery[Any]]], Any]:
        async def handle(unit: Unit, batch: list[Delivery[Any]]) -> None:
            for delivery in batch:
                await self._carry_out(unit, delivery, act)

        return handle

    async def _carry_out(
        self,
        unit: Unit,
        delivery: Delivery[Any],
        act: Callable[[Turn, Any], None],
        lock: Lock | None = None,
    ) -> None:
        """Answer by `experiment.changed` (of a trial: `trial.changed`), or by `operation.refused`."""
        command: ExperimentCommand = delivery.message
        try:
            locked = await (lock or _lock_live)(unit, command)
            _check_version(command, locked.experiment)
            loaded, turn = await self.desk.begin(unit, locked.experiment, locked.trials)
            await advance(loaded, partial(act, turn, command))
        except (Rejected, Conflict) as error:
            unit.emit(_refused(command, error), cause=delivery)
            return
        await self.desk.finish(unit, [Done(loaded, await self.desk.decide(unit, turn), (delivery,))])


async def _lock_live(unit: Unit, command: Any) -> Locked:
    """The command's experiment with all its live trials. Raises NotFound."""
    experiment = await entities.lock_experiment(unit.connection, command.experiment_id)
    if experiment is None:
        raise NotFound(f"experiment {command.experiment_id}")
    return Locked(experiment, await entities.lock_live_trials(unit.connection, experiment.id))


async def _lock_trial(unit: Unit, command: KillTrial) -> Locked:
    """The command's trial with its experiment. Raises NotFound."""
    trial = trial_id(command.experiment_id, command.trial_number)
    for locked in await entities.lock_by_trials(unit.connection, [trial]):
        return locked
    raise NotFound(f"trial {command.trial_number} of experiment {command.experiment_id}")


def _kill_trial(turn: Turn, command: KillTrial) -> None:
    turn.kill_trial(command.trial_number)


def _check_version(command: Command, experiment: Experiment) -> None:
    expected = command.expected_version
    if expected is not None and expected != experiment.version:
        raise Conflict(
            "version_changed", f"the experiment has version {experiment.version}, not {expected} any more"
        )


def _refused(command: Command, error: MusterError) -> OperationRefused:
    return OperationRefused(
        operation_id=command.operation_id, code=error.code, message=error.message, hint=error.hint
    )

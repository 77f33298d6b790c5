"""Convert messages about trials to events of reducers."""

from dataclasses import dataclass
from datetime import datetime

from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.budget.limits import millis
from services.searcher.core.experiment.entities import ClosedRequest, RunEndReport, TrialCheckpoint
from services.searcher.core.experiment.results import Result
from services.searcher.core.reducers.checkpoints import on_checkpoint, on_delayed
from services.searcher.core.reducers.events import (
    CheckpointReport,
    RequestEnd,
    Rollback,
    RunEnd,
    RunSlots,
    UploadDelay,
)
from services.searcher.core.reducers.runs import on_closed, on_granted, on_resized, on_run_ended
from services.searcher.core.reducers.validations import on_rollback, on_validation
from services.searcher.runner.dispatcher import Dispatcher
from shared.bus import Delivery, Unit
from shared.bus.envelope import without_old
from shared.messages.checkpoints import CheckpointEvent, CheckpointSaved, UploadsDelayed
from shared.messages.queue import RequestClosed
from shared.messages.reports import ValidationsSuperseded, ValidationStored
from shared.messages.runs import RunEnded, RunEvent, RunGranted, RunResized


@dataclass(frozen=True, slots=True)
class TrialHandlers:
    dispatcher: Dispatcher

    async def on_validation_stored(self, unit: Unit, batch: list[Delivery[ValidationStored]]) -> None:
        await self.dispatcher.decide(unit, batch, _validation, on_validation)

    async def on_validations_superseded(
        self, unit: Unit, batch: list[Delivery[ValidationsSuperseded]]
    ) -> None:
        await self.dispatcher.decide(unit, without_old(batch), _rollback, on_rollback)

    async def on_checkpoint_settled(self, unit: Unit, batch: list[Delivery[CheckpointEvent]]) -> None:
        await self.dispatcher.decide(unit, without_old(batch), _checkpoint, on_checkpoint)

    async def on_uploads_delayed(self, unit: Unit, batch: list[Delivery[UploadsDelayed]]) -> None:
        await self.dispatcher.decide(unit, without_old(batch), _delay, on_delayed)

    async def on_run_granted(self, unit: Unit, batch: list[Delivery[RunGranted]]) -> None:
        def granted(trial: int, message: RunGranted) -> RunSlots:
            return RunSlots(trial, message.number, self._holding(message))

        await self.dispatcher.decide(unit, batch, granted, on_granted)

    async def on_run_resized(self, unit: Unit, batch: list[Delivery[RunResized]]) -> None:
        """Record new slots of a run. The message has no time, so they count from now."""

        def resized(trial: int, message: RunResized) -> RunSlots:
            return RunSlots(trial, message.number, self._holding(message, since=unit.now))

        await self.dispatcher.decide(unit, without_old(batch), resized, on_resized)

    async def on_run_ended(self, unit: Unit, batch: list[Delivery[RunEnded]]) -> None:
        def ended(trial: int, message: RunEnded) -> RunEnd:
            announced = RunEndReport(message.number, message.validations, message.checkpoints)
            holding = self._holding(message, until=message.ended_at)
            return RunEnd(trial, announced, is_requeued=message.next == "requeued", holding=holding)

        await self.dispatcher.decide(unit, batch, ended, on_run_ended)

    async def on_request_closed(self, unit: Unit, batch: list[Delivery[RequestClosed]]) -> None:
        def closed(trial: int, message: RequestClosed) -> RequestEnd:
            outcome = "invalid" if message.invalid else message.outcome
            return RequestEnd(
                trial, message.request, ClosedRequest(outcome, message.runs, message.reason, unit.now)
            )

        await self.dispatcher.decide(unit, batch, closed, on_closed)

    def _holding(
        self, run: RunEvent, since: datetime | None = None, until: datetime | None = None
    ) -> SlotUsage:
        return SlotUsage(
            slots=sum(member.fraction / 1000 or member.slots for member in run.members),
            since_ms=millis(since or run.granted_at),
            until_ms=None if until is None else millis(until),
            price=self.dispatcher.prices.get(run.pool, 0.0),
            pool=run.pool,
        )


def _validation(trial: int, message: ValidationStored) -> Result:
    return Result(
        trial=trial,
        run=message.run_number,
        number=message.number,
        step=message.step,
        values=message.values,
        is_stale=message.stale,
    )


def _rollback(trial: int, message: ValidationsSuperseded) -> Rollback:
    valid = [(one.step, one.values) for one in message.current]
    return Rollback(trial, message.run_number, message.step, valid)


def _checkpoint(trial: int, message: CheckpointEvent) -> CheckpointReport:
    is_good = isinstance(message, CheckpointSaved)
    found = TrialCheckpoint(message.checkpoint_id, message.run_number, message.step, is_good, message.settles)
    return CheckpointReport(trial, found)


def _delay(trial: int, message: UploadsDelayed) -> UploadDelay:
    return UploadDelay(trial, message.run_number, message.reason)

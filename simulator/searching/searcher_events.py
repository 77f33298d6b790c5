"""Converts events about trials to the searcher's reducers. Mirrors the handlers of `services/searcher`."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from services.scheduler.core.state.published_events import Closed, Ended, Fact, Granted
from services.scheduler.core.state.records.run import Run
from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.budget.limits import millis
from services.searcher.core.experiment import entities
from services.searcher.core.experiment.results import Result
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.checkpoints import on_checkpoint
from services.searcher.core.reducers.events import CheckpointReport, RequestEnd, RunEnd, RunSlots
from services.searcher.core.reducers.runs import on_closed, on_granted, on_run_ended
from services.searcher.core.reducers.validations import on_validation
from shared.ids import CheckpointId, TrialId, derived_id
from simulator.searching.messages import Saved, Stored


@dataclass(frozen=True, slots=True)
class SearcherEvent:
    """An event about one trial. `name` identifies the message; `act` applies it to the experiment, given the
    trial's number."""

    name: str
    trial: TrialId
    act: Callable[[Changes, int], None]


def news_of_fact(number: int, fact: Fact, now: datetime, price: float = 0.0) -> SearcherEvent | None:
    """Convert a fact of the scheduler; None: it concerns no trial. `price`: per slot and hour."""
    name = f"fact {number}"
    match fact:
        case Granted(run, _):
            held = _holding(run, price)
            return SearcherEvent(
                name, run.trial, lambda changes, trial: on_granted(changes, RunSlots(trial, run.number, held))
            )
        case Ended(run, _, ending, exited):
            counts = (exited.validations, exited.checkpoints) if exited else (None, None)
            ended, is_requeued = entities.RunEndReport(run.number, *counts), ending.closes is None
            held = _holding(run, price)
            return SearcherEvent(
                name,
                run.trial,
                lambda changes, trial: on_run_ended(changes, RunEnd(trial, ended, is_requeued, held)),
            )
        case Closed(closing, outcome, reason):
            closed, request = (
                entities.ClosedRequest(outcome, closing.runs, reason, now),
                closing.request.request,
            )
            return SearcherEvent(
                name,
                closing.id,
                lambda changes, trial: on_closed(changes, RequestEnd(trial, request, closed)),
            )
    return None


def _holding(run: Run, price: float) -> SlotUsage:
    until_ms = None if run.ended_at is None else millis(run.ended_at)
    return SlotUsage(float(run.slots), millis(run.granted_at), until_ms, price)


def news_of_report(report: Stored | Saved) -> SearcherEvent:
    """Convert a report of the registry. An announced checkpoint counts whether it was saved or abandoned."""
    match report:
        case Saved(run, count, step, is_good):
            name = f"checkpoint {run.id}:{count}"
            checkpoint = CheckpointId(derived_id(run.id, "checkpoint", count))
            found = entities.TrialCheckpoint(checkpoint, run.number, step, is_good)
            return SearcherEvent(
                name, run.trial, lambda changes, trial: on_checkpoint(changes, CheckpointReport(trial, found))
            )
        case Stored(run, count, step, values, is_stale):
            name = f"validation {run.id}:{count}"
            return SearcherEvent(
                name,
                run.trial,
                lambda changes, trial: on_validation(
                    changes, Result(trial, run.number, count, step, values, is_stale)
                ),
            )

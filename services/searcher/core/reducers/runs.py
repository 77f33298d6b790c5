"""Apply the scheduler's events about a trial's runs and requests."""

from services.searcher.core.budget.ledger import SlotUsage
from services.searcher.core.experiment.entities import TrialRecord
from services.searcher.core.experiment.states import DesiredState, TrialTrigger
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import close, settle, settle_anyway
from services.searcher.core.reducers.events import RequestEnd, RunEnd, RunSlots
from services.searcher.core.reducers.starting import release_concurrency
from shared.tuples import changed


def on_granted(changes: Changes, granted: RunSlots) -> None:
    """Record that a run was granted."""
    _hold(changes, granted.trial, granted.run, granted.holding)
    trial = changes.trials[granted.trial]
    if trial.is_final or granted.run <= trial.run:
        return
    trial = changed(trial, run=granted.run)
    has_ended = trial.closed is not None or (trial.ended is not None and trial.ended.run >= granted.run)
    changes.put(trial if has_ended else trial.moved(TrialTrigger.GRANTED))


def on_resized(changes: Changes, resized: RunSlots) -> None:
    """Record that a run was resized."""
    _hold(changes, resized.trial, resized.run, resized.holding)


def on_run_ended(changes: Changes, end: RunEnd) -> None:
    """Record that a run ended, and what it had announced."""
    ended = end.ended
    _hold(changes, end.trial, ended.run, end.holding)
    trial = changes.trials[end.trial]
    if trial.is_final or (trial.ended is not None and trial.ended.run >= ended.run):
        return
    trial = changed(trial, ended=ended, run=max(trial.run, ended.run))
    if end.is_requeued and ended.run == trial.run and trial.closed is None:
        trial = trial.moved(TrialTrigger.REQUEUED)
    if trial.closed is not None:
        trial = changed(trial, reason=trial.missing())
    settle(changes, changes.put(trial))


def on_closed(changes: Changes, end: RequestEnd) -> None:
    """Record the end of a request: the trial is parked, requested again or over. Its replacement starts at once."""
    trial, closed = changes.trials[end.trial], end.closed
    if end.request != trial.request or not trial.is_open:
        return
    is_ending = trial.is_stopped or trial.desired_state is DesiredState.KILL
    if closed.outcome == "parked" and changes.is_ongoing and not is_ending:
        _park(changes, changed(trial, run=max(trial.run, closed.runs)))
    else:
        close(changes, trial, closed)


def on_overdue(changes: Changes, trial: int) -> None:
    """End a trial whose announced reports or checkpoints never arrived."""
    settle_anyway(changes, changes.trials[trial])


def _hold(changes: Changes, number: int, run: int, holding: SlotUsage | None) -> None:
    """Record what a run holds or has held, on its trial's account and, with a budget, in the search."""
    if holding is None:
        return
    trial, spending = changes.trials[number], changes.search.spending
    if trial.usage.is_change(run, holding):
        changes.put(changed(trial, usage=trial.usage.with_usage(run, holding)), is_dirty=False)
    if spending.is_counting and spending.is_change(number, run, holding):
        spending.on_holding(number, run, holding)
        changes.journal.held(number, run, holding)


def _park(changes: Changes, trial: TrialRecord) -> None:
    if trial.desired_state is not DesiredState.PARK:
        changes.want_again(trial)
        return
    changes.announce(trial.moved(TrialTrigger.PARKED))
    if trial.is_paused_by_search:
        release_concurrency(changes, trial)

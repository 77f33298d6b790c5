"""Apply commands of users. Each raises Conflict if the experiment's state does not allow it."""

from typing import Literal
from uuid import UUID

from services.searcher.core.budget.ledger import NOTHING, BudgetUsage, LedgerOpening
from services.searcher.core.budget.limits import millis
from services.searcher.core.editing import SearchEdit
from services.searcher.core.experiment.states import (
    EXPERIMENT,
    ONGOING,
    DesiredState,
    ExperimentState,
    ExperimentTrigger,
    TrialState,
)
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.ending import end, end_rest, hurry, settle_anyway, stop
from services.searcher.core.reducers.starting import fill, want_to_run
from shared.errors import Conflict
from shared.tuples import changed

KILLED_BY_USER = "killed by a user"


def pause(changes: Changes) -> None:
    """Park every running or queued trial."""
    require(changes, ONGOING, "paused")
    changes.move(ExperimentTrigger.PAUSE)
    changes.search.pause()
    changes.journal.paused("paused")
    for trial in changes.live():
        if trial.is_open and trial.desired_state is DesiredState.RUN:
            changes.want(trial, DesiredState.PARK)


def resume(changes: Changes) -> None:
    """Request every parked trial again, then create new ones."""
    require(changes, ONGOING, "resumed")
    changes.move(ExperimentTrigger.RESUME)
    for trial in changes.live():
        if not trial.is_paused_by_search:
            want_to_run(changes, trial)
    actions = changes.search.resume()
    changes.journal.resumed(actions)
    fill(changes, actions)


def cancel(changes: Changes, wanted: Literal[DesiredState.CANCEL, DesiredState.KILL]) -> None:
    """End every trial. A kill may follow a cancel, and waits for no reports or uploads."""
    require(changes, (*ONGOING, ExperimentState.STOPPING), "cancelled")
    if changes.is_ongoing:
        stop(changes, ExperimentTrigger.CANCEL, None, wanted)
    else:
        changes.is_announced = True
        hurry(changes, wanted)
    if wanted is DesiredState.KILL:
        for trial in changes.live():
            settle_anyway(changes, trial)


def kill_trial(changes: Changes, number: int) -> None:
    """Kill one trial; the search continues without it. Raises Conflict if the trial has ended."""
    trial = changes.trials[number]
    if trial.is_final:
        state = TrialState.ERROR if trial.state is TrialState.INVALID else trial.state
        raise Conflict(
            f"trial_is_{state}",
            f"trial {number} has already ended ({state}) and cannot be killed",
        )
    if trial.closed is None:
        changes.announce(changed(trial, reason=trial.reason or KILLED_BY_USER))
    end(changes, changes.trials[number], DesiredState.KILL)
    settle_anyway(changes, changes.trials[number], KILLED_BY_USER)


def finish(changes: Changes) -> None:
    """End the search with the best trial so far: its trials save and stop."""
    require(changes, ONGOING, "finished")
    stop(changes, ExperimentTrigger.COMPLETE, "finished early by a user", DesiredState.STOP)


def edit_search(
    changes: Changes, change: SearchEdit, operation: UUID, past: BudgetUsage = NOTHING, price: float = 0.0
) -> None:
    """Change the limits of a running search. Raises Rejected if it does not allow the edit.

    `past` is the usage of its ended trials and `price` the price of a slot for an hour; both count if it gets its
    first budget.
    """
    require(changes, ONGOING, "edited")
    search, opening = changes.search, None
    if change.is_of_budget and not search.spending.is_counting:
        accounts = {trial.number: trial.usage for trial in changes.live()}
        opening = LedgerOpening(millis(changes.now), price, past, accounts)
    actions = search.edit(change, opening)
    changes.journal.edited(change, opening, actions)
    fill(changes, actions)
    limits = changed(changes.experiment.limits, operation=operation)
    if change.max_concurrent_trials is not None:
        limits = changed(limits, max_concurrent_trials=change.max_concurrent_trials)
    changes.experiment = changed(changes.experiment, planned=search.planned() or None, limits=limits)
    changes.is_announced = True
    changes.measure()
    end_rest(changes, changes.live())


def archive(changes: Changes, archived: bool) -> None:
    """Archive or unarchive an experiment that has ended."""
    require(changes, tuple(EXPERIMENT.final), "archived")
    changes.experiment = changed(changes.experiment, archived=archived)
    changes.is_announced = True


def require(changes: Changes, states: tuple[ExperimentState, ...], done: str) -> None:
    """Raise Conflict if the experiment is in none of these states and so cannot be `done`."""
    state = changes.experiment.state
    if state not in states:
        raise Conflict(f"experiment_is_{state}", f"an experiment that is {state} cannot be {done}")

"""End single trials and whole searches. Steps that reducers share."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from services.searcher.core.budget.limits import limit_reason
from services.searcher.core.experiment.entities import ClosedRequest, Outcome, ScoredValidation, TrialRecord
from services.searcher.core.experiment.outcomes import end_of_search, end_of_trial, ending_of, result_of
from services.searcher.core.experiment.states import DesiredState, ExperimentTrigger, TrialState, TrialTrigger
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.reducers.starting import fill
from services.searcher.core.search.search import Search
from shared.tuples import changed

NOT_STORED = "not all validations and checkpoints of its last run were stored"

# --- one trial


def end(changes: Changes, trial: TrialRecord, wanted: DesiredState) -> None:
    """End a trial this way. A trial without a run ends now, because the scheduler has nothing to confirm.

    The scheduler may have granted a run of which the searcher has no notice yet. The end of a queued trial is sent
    with its desired state and reaches that run: a cancelled run still saves, a killed one does not. A trial whose
    request is already closed waits for what its last run announced and is left alone.
    """
    if trial.is_final or trial.closed is not None:
        return
    if not trial.is_idle:
        _ask(changes, trial, wanted)
        return
    if trial.state is TrialState.QUEUED:
        never_ran = wanted is DesiredState.STOP and not trial.run
        trial = changes.want(trial, DesiredState.CANCEL if never_ran else wanted)
    close(changes, trial, ClosedRequest(_outcome_without_run(trial, wanted), trial.run, None, changes.now))


def close(changes: Changes, trial: TrialRecord, closed: ClosedRequest) -> None:
    """Record that a trial's request is closed for good, and start what replaces it.

    If everything that the trial announced has arrived, a learning sampler observes the result first. So each of
    several sequential trials is proposed with knowledge of the earlier ones.
    """
    closed = replace(closed, reason=_reason_of(trial, closed))
    trial = changed(trial, closed=closed, reason=closed.reason, run=max(trial.run, closed.runs))
    trial = changes.put(trial.moved(TrialTrigger.CLOSED))
    if closed.outcome == "rejected" and changes.is_ongoing:
        stop(changes, ExperimentTrigger.REJECT, closed.reason, DesiredState.KILL)
    is_complete = trial.is_complete()
    if is_complete:
        _observe(changes, trial, closed)
    ending = ending_of(trial, closed.outcome)
    actions = changes.search.on_ended(trial.number, ending)
    changes.journal.ended(trial.number, ending, actions)
    fill(changes, actions)
    changes.measure(has_advanced=ending is TrialEnding.FINISHED)
    trial = changes.trials[trial.number]
    if is_complete:
        _finalise(changes, trial, closed)
    else:
        changes.announce(changed(trial, reason=trial.missing()))


def settle(changes: Changes, trial: TrialRecord) -> None:
    """End a closed trial once everything that it announced has arrived."""
    if trial.closed is not None and not trial.is_final and trial.is_complete():
        _end_closed(changes, changed(trial, reason=trial.closed.reason), trial.closed)


def settle_anyway(changes: Changes, trial: TrialRecord, why: str = NOT_STORED) -> None:
    """End a closed trial without what has not arrived. `why` is its reason if it has no other."""
    if trial.closed is not None and not trial.is_final:
        _end_closed(changes, changed(trial, reason=trial.closed.reason or why), trial.closed)


# --- the whole search


def stop(changes: Changes, outcome: ExperimentTrigger, reason: str | None, wanted: DesiredState) -> None:
    """Start to end the whole search."""
    changes.move(ExperimentTrigger.STOP)
    changes.experiment = changed(changes.experiment, outcome=outcome, reason=reason)
    changes.search.pause()
    changes.journal.paused("stopping")
    hurry(changes, wanted)


def hurry(changes: Changes, wanted: DesiredState) -> None:
    """End every trial of a stopping search this way."""
    changes.ending = wanted
    end_rest(changes, changes.live())


def end_rest(changes: Changes, trials: Iterable[TrialRecord]) -> None:
    """End further live trials of a search that ends. Trials that have already been asked are left alone."""
    wanted = changes.ending
    for trial in changes.known(trials):
        if trial.is_paused_by_search and changes.abandons_paused and not trial.is_final:
            _leave_behind(changes, trial)
        if wanted is not None:
            end(changes, changed(trial, reason=trial.reason or _with_experiment(changes, wanted)), wanted)
    finish_if_over(changes)


def choose_best(changes: Changes, bests: Mapping[int, ScoredValidation]) -> None:
    """Choose the experiment's best again after it was invalidated; then end the search if it is over."""
    changes.choose_best(bests)
    last, changes.invalidated = changes.invalidated, None
    finish_if_over(changes, last)


def finish_if_over(changes: Changes, last: TrialRecord | None = None) -> None:
    """End a search that has no live trial and creates no other. `last` is the trial that has just ended."""
    experiment, search = changes.experiment, changes.search
    if experiment.is_final or experiment.counts.live:
        return
    trigger, reason = experiment.outcome, experiment.reason
    if trigger is None:
        if not search.is_exhausted:
            return
        found = end_of_search(changes.config, experiment, last, search.give_up_reason)
        trigger, reason = found.trigger, found.reason or reason or _end_of_budget(search)
    if trigger is ExperimentTrigger.COMPLETE and experiment.best is None and experiment.outcome:
        trigger, reason = ExperimentTrigger.CANCEL, f"{reason}; no trial had reported a result"
    changes.move(trigger)
    progress = 1.0 if trigger is ExperimentTrigger.COMPLETE else experiment.progress
    changes.experiment = changed(changes.experiment, reason=reason, progress=progress, ended_at=changes.now)
    changes.journal.finished(changes.experiment.state.value, reason)


# --- helpers


def _ask(changes: Changes, trial: TrialRecord, wanted: DesiredState) -> None:
    """Ask a run to end this way, unless it is already being killed."""
    if trial.desired_state not in (wanted, DesiredState.KILL):
        changes.want(trial, wanted)


def _end_closed(changes: Changes, trial: TrialRecord, closed: ClosedRequest) -> None:
    _observe(changes, trial, closed)
    _finalise(changes, trial, closed)


def _observe(changes: Changes, trial: TrialRecord, closed: ClosedRequest) -> None:
    """Report the result of an ending trial to the sampler and the driver program."""
    search = changes.search
    if search.learns or search.is_driven:
        final = trial.moved(end_of_trial(trial, closed))
        result = result_of(final)
        search.observe(final.number, result)
        changes.journal.observed(final.number, result, final.state.value, final.reason)


def _finalise(changes: Changes, trial: TrialRecord, closed: ClosedRequest) -> None:
    trial = changed(trial.moved(end_of_trial(trial, closed)), ended_at=changes.now)
    if trial.state is TrialState.INVALID:
        trial = changed(trial, best=None)
    changes.announce(trial)
    if trial.state is not TrialState.INVALID or not changes.invalidate_best(trial):
        finish_if_over(changes, trial)


def _with_experiment(changes: Changes, wanted: DesiredState) -> str:
    """Return why a trial ends with its experiment."""
    experiment = changes.experiment
    if experiment.outcome is ExperimentTrigger.CANCEL:
        return f"its experiment was {'killed' if wanted is DesiredState.KILL else 'cancelled'}"
    return f"its experiment ended: {experiment.reason}" if experiment.reason else "its experiment ended"


def _leave_behind(changes: Changes, trial: TrialRecord) -> None:
    """End a trial that the search paused and that will never resume."""
    trial = changes.put(changed(trial, is_stopped=True))
    if trial.state is TrialState.PARKED:
        end(changes, trial, DesiredState.STOP)


def _end_of_budget(search: Search) -> str | None:
    if search.ended_by is None:
        return None
    return limit_reason(search.ended_by, search.spending.limits, is_used_up=False)


def _outcome_without_run(trial: TrialRecord, wanted: DesiredState) -> Outcome:
    """Return the outcome of a trial without a run.

    A trial that never ran and is to stop is cancelled, unless the search had paused it.
    """
    is_stopped = wanted is DesiredState.STOP and (trial.run > 0 or trial.state is TrialState.PARKED)
    return "stopped" if is_stopped else "cancelled"


def _reason_of(trial: TrialRecord, closed: ClosedRequest) -> str | None:
    """Return why a trial ended. The reason of a kill by a user takes precedence over how its processes exited."""
    is_killed = trial.reason is not None and end_of_trial(trial, closed) is TrialTrigger.CANCELLED
    return trial.reason if is_killed else closed.reason

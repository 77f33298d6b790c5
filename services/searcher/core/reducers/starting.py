"""Start and resume trials as the search decides. Steps that reducers share."""

from collections.abc import Iterable

from services.searcher.core.experiment.entities import TrialRecord
from services.searcher.core.experiment.states import DesiredState, ExperimentState, TrialState
from services.searcher.core.methods.interface import ResumeTrial
from services.searcher.core.reducers.changes import Changes
from services.searcher.core.search.actions import SearchActions
from shared.tuples import changed


def fill(changes: Changes, actions: SearchActions) -> None:
    """Create the new trials and resume the loaded ones. `changes.missing` names those that must be loaded first."""
    for proposal in actions.created:
        source = None if proposal.source is None else changes.trials.get(proposal.source)
        if proposal.source is not None and source is None:
            changes.copies.append(proposal)
        else:
            changes.create(proposal, source)
    for step in actions.resumed:
        if (trial := changes.trials.get(step.trial)) is not None:
            _resume(changes, trial, step)
        else:
            changes.resuming[step.trial] = step


def resume_loaded(changes: Changes, trials: Iterable[TrialRecord]) -> None:
    """Resume the trials that were missing, and create the copies of those that were."""
    for trial in changes.known(trials):
        if trial.number in changes.resuming:
            _resume(changes, trial, changes.resuming.pop(trial.number))
    copies, changes.copies = changes.copies, []
    fill(changes, SearchActions(created=tuple(copies)))


def release_concurrency(changes: Changes, trial: TrialRecord) -> None:
    """Start what replaces a trial that the search paused and that is parked now."""
    actions = changes.search.on_parked(trial.number)
    changes.journal.parked(trial.number, actions)
    fill(changes, actions)


def keep(changes: Changes, step: ResumeTrial) -> None:
    """Let a running trial continue until another time; a trial about to pause stays."""
    trial = changes.trials[step.trial]
    if trial.desired_state is DesiredState.RUN and trial.is_open:
        changes.want(changed(trial, decide_at=step.decide_at), DesiredState.RUN)
    else:
        _resume(changes, trial, step)


def want_to_run(changes: Changes, trial: TrialRecord) -> None:
    """Undo a pause of a trial that is parked or about to park, unless a user has paused the experiment."""
    if changes.experiment.state is not ExperimentState.ACTIVE:
        return
    if trial.state is TrialState.PARKED:
        changes.want_again(trial)
    elif trial.is_open and trial.desired_state is DesiredState.PARK:
        changes.want(trial, DesiredState.RUN)


def _resume(changes: Changes, trial: TrialRecord, step: ResumeTrial) -> None:
    if not trial.is_final:
        trial = changed(trial, is_paused_by_search=False, decide_at=step.decide_at)
        want_to_run(changes, changes.put(trial, is_dirty=False))

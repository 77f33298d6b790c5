"""How trials and searches end: from a request's outcome to the trial's final state, and from trials to the experiment."""

from dataclasses import dataclass

from muster.config import ExperimentConfig, Single
from services.searcher.core.experiment.entities import (
    ClosedRequest,
    ExperimentRecord,
    Outcome,
    ScoredValidation,
    TrialRecord,
)
from services.searcher.core.experiment.objectives import is_finite
from services.searcher.core.experiment.states import DesiredState, ExperimentTrigger, TrialState, TrialTrigger
from services.searcher.core.methods.interface import TrialEnding

_HOW_TO_REPORT = (
    "report it with `trial.validate` of `muster.trial()`; metrics reported through Determined's own library are not recorded"
    " (docs/determined.md)"
)


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """The end of a search, with its reason if there is one."""

    trigger: ExperimentTrigger
    reason: str | None = None


def ending_of(trial: TrialRecord, outcome: Outcome) -> TrialEnding:
    """Return what a closed request means to the search method, which already knows of trials that the search ended."""
    match outcome:
        case "completed" | "stopped":
            return TrialEnding.FINISHED
        case "failed" | "rejected":
            return TrialEnding.FAILED
        case "cancelled" | "killed" | "parked":
            return TrialEnding.CANCELLED
        case "invalid":
            return TrialEnding.FINISHED if trial.is_stopped else TrialEnding.INVALID


def end_of_trial(trial: TrialRecord, closed: ClosedRequest) -> TrialTrigger:
    """Return the trigger of the trial's final state.

    A trial that the search ended is `stopped`, or `completed` if it reached its maximum time, however its processes
    exited. A trial that failed while it was being cancelled counts as cancelled.
    """
    if trial.is_stopped:
        return TrialTrigger.COMPLETED if trial.reached_max_time else TrialTrigger.STOPPED
    match closed.outcome:
        case "completed":
            return TrialTrigger.COMPLETED
        case "stopped":
            return TrialTrigger.STOPPED
        case "parked" if trial.desired_state is DesiredState.STOP:
            return TrialTrigger.STOPPED
        case "cancelled" | "killed" | "parked":
            return TrialTrigger.CANCELLED
        case "failed":
            is_requested = trial.desired_state in (DesiredState.CANCEL, DesiredState.KILL)
            return TrialTrigger.CANCELLED if is_requested else TrialTrigger.FAILED
        case "rejected":
            return TrialTrigger.FAILED
        case "invalid":
            return TrialTrigger.INVALID


def result_of(trial: TrialRecord) -> ScoredValidation | None:
    """Return the best result of a final trial, or its latest if none met the limits.

    None if the trial was neither completed nor stopped, or if the result is not finite.
    """
    if trial.state not in (TrialState.COMPLETED, TrialState.STOPPED):
        return None
    result = trial.best or trial.latest
    return result if result and is_finite(result) else None


def end_of_search(
    config: ExperimentConfig,
    experiment: ExperimentRecord,
    last: TrialRecord | None,
    give_up_reason: str | None = None,
) -> SearchEnd:
    """Return how a search ends that has no live trial left and whose end nobody requested.

    One good trial makes it completed; otherwise a failed trial makes it an error; otherwise it was cancelled. A
    search in which no trial reported its metrics within the limits is an error too, because there is nothing to
    choose from. `give_up_reason` is the reason why it created fewer trials than planned.
    """
    counts = experiment.counts
    if counts.completed + counts.stopped:
        if experiment.best is not None:
            return SearchEnd(ExperimentTrigger.COMPLETE, give_up_reason)
        reason = _nothing_to_choose(config)
        is_search = not isinstance(config.searcher, Single)
        return SearchEnd(ExperimentTrigger.FAIL if is_search else ExperimentTrigger.COMPLETE, reason)
    why = f": trial {last.number}: {last.reason}" if last and last.reason else ""
    if give_up_reason is not None:
        return SearchEnd(ExperimentTrigger.FAIL, f"{give_up_reason}{why}")
    if counts.error:
        return SearchEnd(ExperimentTrigger.FAIL, f"every trial failed{why}")
    if counts.invalid:
        return SearchEnd(ExperimentTrigger.FAIL, f"every trial reported invalid hyperparameters{why}")
    return SearchEnd(ExperimentTrigger.CANCEL)


def _nothing_to_choose(config: ExperimentConfig) -> str:
    searcher = config.searcher
    names = " and ".join(f"'{metric.name}'" for metric in searcher.aims)
    if searcher.limits:
        return f"no trial reported {names} within searcher.limits: {', '.join(searcher.limits)}"
    key = "searcher.metrics" if searcher.metrics else "searcher.metric"
    numbers = "as finite numbers" if len(searcher.aims) > 1 else "as a finite number"
    return f"no trial reported {key} {names} {numbers}; {_HOW_TO_REPORT}"
